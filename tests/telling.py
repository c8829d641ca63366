"""Telling others of a site after a run, as a run does."""

from typing import Any

import anyio
from doubles_indexnow import Site

from crawler.notify.ledger_status import NotifyResult, notify_status
from crawler.notify.notify import send_notifications
from crawler.state.runs import RunResult, RunStatus

NOW = 1_800_000_000.0


def tell(site: Site, run: int | None = None, *, exit_code: int = 0, now: float = NOW, **kw: Any) -> NotifyResult:
    """What is told after a run, or without one."""
    settings = {name: kw.pop(name) for name in list(kw) if "__" in name}
    message = kw.pop("message", "the site is down" if exit_code else "published")
    ended = None
    if run is not None:
        fate = {0: RunStatus.DONE, 4: RunStatus.DONE, 6: RunStatus.BUSY}.get(exit_code, RunStatus.FAILED)
        ended = RunResult(exit_code=exit_code, status=fate, run=run, message=message)
    plan = site.planned(**settings)
    return anyio.run(lambda: send_notifications(plan, "shop", ended=ended, clock=lambda: now, **kw))


def begun(site: Site, *pages: str) -> None:
    """A site whose first run was told of to nobody."""
    tell(site, site.run(pages))
    assert not site.double.messages


def outstanding(site: Site) -> list[str]:
    return [said for channel in notify_status(site.plan.state).channels for said in channel.outstanding]


def hooked(site: Site, **settings: Any) -> dict[str, Any]:
    return {"indexnow__key": "", "webhook__urls": [f"{site.double.home}/hook"], **settings}


def occasions(site: Site) -> list[str]:
    return [message["occasion"] for message in site.double.messages]
