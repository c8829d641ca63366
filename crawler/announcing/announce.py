"""Telling the world of one site: what is outstanding, in order, while its state is held."""

import time
from collections.abc import Callable

from crawler.announcing.announced import Announced
from crawler.attempt import Ended
from crawler.plan import Plan


async def announce(
    plan: Plan,
    name: str,
    *,
    ended: Ended | None = None,
    dry_run: bool = False,
    clock: Callable[[], float] = time.time,
) -> Announced:
    """Tell everyone what they were not told yet; to be called when the files are live, whatever the run came to.

    ``name`` is that of the site. ``ended`` is how the run ended after which this is called, None when there was none:
    then only what is outstanding is told. Never raises for what others do, or for a ledger that cannot be written:
    what could not be told is in the answer. Raises UsageError for a configuration that names no secret.
    """
    _ = plan, name, ended, dry_run, clock
    return Announced()
