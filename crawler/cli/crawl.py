"""``siteatlas crawl``: crawls one site and publishes its sitemap."""

import sys
from pathlib import Path
from typing import Any

from crawler.cli.errors import INTERRUPTED, CommandErrors, print_json
from crawler.cli.options import CRAWL_KEYS, RUN_OPTIONS, site_config, with_flags
from crawler.run.options import RunOptions


@with_flags(*CRAWL_KEYS, switches=RUN_OPTIONS)
def crawl(url: str | None = None, config: Path | None = None, **flags: Any) -> None:
    """Crawl a website from URL and publish its sitemap in a directory.

    The sitemap lists pages in the directory of URL and below, as the sitemap protocol demands. For example, a crawl of
    https://example.com/docs/ lists pages under /docs/. If a crawl is interrupted, run the same command again
    to continue it.
    """
    with CommandErrors(flags["verbose"], INTERRUPTED) as errors:
        settings = site_config(
            config, flags, url, remedy=f"siteatlas run --config {config} runs all sites, and --site NAME only one"
        )
        from crawler.cli.progress import CrawlProgressDisplay  # noqa: PLC0415 - the crawler is not needed to show help
        from crawler.config.plan import plan_crawl  # noqa: PLC0415
        from crawler.run.regenerate import crawl_and_report  # noqa: PLC0415
        from crawler.url.normalize import host_of  # noqa: PLC0415

        options = RunOptions(**{name: flags.pop(name) for name in RUN_OPTIONS})
        plan = plan_crawl(settings)
        with CrawlProgressDisplay(errors.terminal, host_of(plan.seed), enabled=not options.quiet) as display:
            report = crawl_and_report(host_of(plan.seed), plan, options, display.watch)
        errors.exit_code = report.exit_code
        if options.as_json:
            print_json(report.as_json())
        else:
            from crawler.cli.summary import print_summary  # noqa: PLC0415

            print_summary(report, errors.print_line, quiet=options.quiet)
        sys.stdout.flush()
