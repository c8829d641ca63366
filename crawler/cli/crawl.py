"""``siteatlas crawl``: runs a crawl under the event loop, with the live display."""

import gc

import anyio
from rich.console import Console

from crawler.cli.progress import Display
from crawler.cli.wishes import Wishes
from crawler.config.plan import Plan
from crawler.engine import Watch
from crawler.regenerate import regenerate
from crawler.report import Report
from crawler.state.store import Begin


def crawl_site(
    name: str, ready: Plan, console: Console, wishes: Wishes, watch: Watch | None = None
) -> Report:
    """Crawl, publish, tell and report; ``name`` is what the site is called. Raises SiteatlasError.

    How far it is is told ``watch``, by default a display on the console.
    """
    display = Display(console, enabled=not wishes.quiet)

    async def run() -> Report:
        return await regenerate(
            ready,
            name,
            watch or display.watch,
            begin=beginning(wishes),
            dry_run=wishes.dry_run,
            accept_shrink=wishes.accept_shrink,
            all_left_out=wishes.verbose,
        )

    collect_seldom()
    with display:
        return anyio.run(run, backend_options=loop_options())


def beginning(wishes: Wishes) -> Begin:
    """What becomes of an earlier run."""
    if wishes.fresh or wishes.restart:
        return Begin.FRESH if wishes.fresh else Begin.RESTART
    return Begin.GO_ON_IF_ALIKE if wishes.unattended else Begin.GO_ON


def collect_seldom() -> None:
    """Everything that is imported by now stays; what a page leaves behind is freed by reference counts."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def loop_options() -> dict[str, bool]:
    """The options of the event loop: uvloop where there is one."""
    try:
        import uvloop  # noqa: F401, PLC0415 - optional: it does not exist everywhere
    except ImportError:
        return {"use_uvloop": False}
    return {"use_uvloop": True}
