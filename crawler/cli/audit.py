"""``siteatlas audit``: what it is told on the command line, what it prints, and which exit code it has."""

import sys
from typing import Annotated, Any

import typer

from crawler.cli.errors import Told
from crawler.cli.help import RAW
from crawler.cli.options import FLAGS, Form, Fresh, Quiet, Restart, Settings, settings, with_flags
from crawler.run.options import Wishes

EPILOG = f"""{RAW}Examples:
  siteatlas audit https://www.example.com/ -o report
  siteatlas audit https://www.example.com/ --log '/var/log/nginx/access.log*' --search Pages.csv -o report
  siteatlas audit --config site.toml --site shop --fail-on error,orphan --format junit
  siteatlas audit https://www.example.com/ --fail-on new:warning

Exit codes: 0 done, 1 internal error, 2 usage or configuration, 4 incomplete (the report is written, what depends on
the rest is inconclusive; run again to go on), or findings that --fail-on names are inconclusive or may be new, 5
nothing crawlable, 6 state in use by another process, 7 storage error, 10 conclusive findings that --fail-on names.
"""

_SECTIONS = ("scope", "urls", "obey", "pace", "fetch", "parse", "audit")

_MORE = ("site.sitemap_url", "state.directory", "state.keep_runs")

_NOT_OURS = ("scope.sitemap_seeds", "audit.every")

_KEYS = tuple(
    flag.key
    for flag in FLAGS
    if flag.key in _MORE or (flag.key.partition(".")[0] in _SECTIONS and flag.key not in _NOT_OURS)
)


@with_flags(*_KEYS)
def audit(  # noqa: PLR0913 - the command line is wide
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="The URL to start from.", show_default=False)
    ] = None,
    config: Settings = None,
    site: Annotated[
        str | None,
        typer.Option("--site", metavar="NAME", help="The site of the configuration that is meant."),
    ] = None,
    form: Annotated[Form, typer.Option("--format", help="How the audit is told.")] = Form.TEXT,
    rules: Annotated[bool, typer.Option("--rules", help="Print the table of rules and leave.")] = False,
    fresh_crawl: Annotated[
        bool, typer.Option("--fresh-crawl", help="Crawl the site, however recent the last run is.")
    ] = False,
    fresh: Fresh = False,
    restart: Restart = False,
    quiet: Quiet = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Name every URL with a finding; log more.")
    ] = False,
    **flags: Any,
) -> None:
    """Find the pages that exist, are visited or are published, and that the site itself does not link.

    The site is crawled by its links alone; its sitemaps, and the logs, exports and lists that are named, are compared
    with what was found. What only they know is asked what it is today. Also told is what is wrong with the sitemaps.
    When the last run of the site is recent (--max-crawl-age), its crawl is used, and only the rest is asked for.
    """
    with Told(verbose, "interrupted; what is known is saved, the same command goes on") as told:
        if rules:
            from crawler.audit.rules import TOLD  # noqa: PLC0415 - not needed to show help
            from sitemap import rules_text  # noqa: PLC0415

            sys.stdout.write(rules_text(TOLD.values()))
            return
        from crawler.cli import audit_run as auditing  # noqa: PLC0415 - the crawler is not needed to show help

        if fresh_crawl:
            flags["audit__max_crawl_age"] = 0.0
        chosen = settings(config, flags, url, site)
        wishes = Wishes(fresh=fresh, restart=restart, quiet=quiet, verbose=verbose)
        auditing.run(chosen, wishes, form, told)
