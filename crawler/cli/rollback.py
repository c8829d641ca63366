"""``siteatlas rollback``: publishes the previous sitemap set again."""

import sys
from typing import Any, Final

import anyio

from crawler.audit.report.layout import fitted
from crawler.cli.errors import CommandErrors
from crawler.cli.options import SitesConfigOption, site_config, with_flags
from crawler.cli.summary import upload_line
from crawler.config.plan import plan_crawl
from crawler.errors import UsageError
from crawler.publish.rollback import publish_previous
from crawler.publish.upload.upload import check_upload, upload
from crawler.units import count_text

_NEXT_RUN_NOTE: Final = (
    "correct the site before the next run: otherwise, the next run publishes the same sitemap as before the rollback"
)


@with_flags("output.directory", "site.sitemap_url", "state.directory", "upload.to")
def rollback(
    url: str | None = None,
    config: SitesConfigOption = None,
    site: str | None = None,
    to: int | None = None,
    quiet: bool = False,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Publish the previous sitemap of a site again, and upload it.

    Siteatlas keeps copies of published sitemaps, and rollback publishes such a copy. It does not change what Siteatlas
    stored about the pages. If you do not correct the site, the next run publishes the same sitemap as before the
    rollback. rollback sends no notifications. The next run sends the changes of the rollback together with its own.
    """
    with CommandErrors(verbose, "interrupted; the old or the new sitemap is published completely") as errors:
        settings = site_config(config, flags, url, site)
        if not settings.site.url:
            raise UsageError("no site is given. Use siteatlas rollback https://example.com/ -o DIR, or --config FILE")
        plan = plan_crawl(settings)
        check_upload(plan)
        run = publish_previous(plan, to)
        print_line = (lambda _: None) if quiet else _print_line
        print_line(f"{run.refusal}: {count_text(run.listed, 'page')} in {settings.output.directory}")
        if run.added or run.changed or run.removed:
            print_line(f"  {run.added:,} added, {run.changed:,} changed, {run.removed:,} removed")
        for note in (*run.notes, _NEXT_RUN_NOTE):
            print_line(f"note: {note}")
        if settings.upload.to:
            print_line(f"  {upload_line(anyio.run(upload, plan, run, errors.print_line))}")


def _print_line(line: str) -> None:
    sys.stdout.write(fitted([line]))
    sys.stdout.flush()
