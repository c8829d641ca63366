"""``siteatlas crawl``: runs a crawl under the event loop, with the live display."""

import gc

import anyio
from rich.console import Console

from crawler.cli.progress import Display
from crawler.config import Config
from crawler.crawl import crawl
from crawler.plan import plan
from crawler.report import Report


def crawl_site(
    config: Config, console: Console, *, fresh: bool, dry_run: bool, quiet: bool, verbose: bool
) -> Report:
    """Plan, crawl, report. Raises SiteatlasError."""
    ready = plan(config)
    display = Display(console, enabled=not quiet)

    async def run() -> Report:
        return await crawl(ready, display.watch, fresh=fresh, dry_run=dry_run, all_left_out=verbose)

    gc.freeze()  # everything imported stays; what a page leaves behind is freed by reference counts
    gc.set_threshold(50_000, 20, 50)
    with display:
        return anyio.run(run, backend_options={"use_uvloop": _has_uvloop()})


def _has_uvloop() -> bool:
    try:
        import uvloop  # noqa: F401, PLC0415 - optional: it does not exist everywhere
    except ImportError:
        return False
    return True
