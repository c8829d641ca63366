"""``siteatlas audit``: its options, its output and its exit code."""

import sys
from typing import Any

from crawler.audit.report.layout import fitted
from crawler.cli.errors import INTERRUPTED, CommandErrors
from crawler.cli.options import FLAGS, Form, SitesConfigOption, site_config, with_flags
from crawler.run.options import RunOptions

_KEYS = (
    *("scope.include", "scope.exclude", "scope.max_pages", "scope.hosts", "state.directory"),
    *("pace.concurrency", "pace.rate", "fetch.timeout", "fetch.source", "fetch.user_agent", "fetch.headers"),
    *("fetch.basic_auth", "fetch.cookies", "fetch.resolve", "render.mode"),
    *(flag.key for flag in FLAGS if flag.key.startswith("audit.")),
)


@with_flags(*_KEYS)
def audit(  # noqa: PLR0913 - the command line is wide
    url: str | None = None,
    config: SitesConfigOption = None,
    site: str | None = None,
    form: Form = Form.TEXT,
    rules: bool = False,
    fresh_crawl: bool = False,
    fresh: bool = False,
    restart: bool = False,
    quiet: bool = False,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Report orphan pages, to which no page of the site links, dead links and other faults.

    The audit crawls the site by its links only. Then it compares the crawl with the sources: the sitemaps of the site,
    and the logs, exports and lists that you name. It requests the URLs that only a source names, and reports their
    present state. It also reports errors in the sitemaps.

    If the last run is recent (audit.max_crawl_age), the audit uses the crawl of that run. It then requests only URLs
    that the run did not visit.
    """
    with CommandErrors(verbose, INTERRUPTED) as errors:
        if rules:
            from crawler.audit.rules import REPORTED_RULES  # noqa: PLC0415 - not needed to show help
            from sitemap import rules_text  # noqa: PLC0415

            sys.stdout.write(fitted(rules_text(REPORTED_RULES.values()).splitlines()))
            return
        from crawler.cli import audit_run  # noqa: PLC0415 - the crawler is not needed to show help

        if fresh_crawl:
            flags["settings"] = [*(flags["settings"] or ()), "audit.max_crawl_age=0"]
        settings = site_config(config, flags, url, site)
        options = RunOptions(fresh=fresh, restart=restart, quiet=quiet, verbose=verbose)
        audit_run.run_audit(settings, options, form, errors)
