"""Asks now and then for the URLs that a site published once, and reports each one that is lost, once."""

import logging
import time
from functools import partial

import anyio

from crawler.config.plan import CrawlPlan
from crawler.errors import SiteatlasError
from crawler.moves import register
from crawler.moves.probe import live_ends
from crawler.notify.notify import send_audit_notifications
from crawler.run.options import loop_options
from crawler.state.schema import STATE_DB
from crawler.state.store import written_state
from crawler.units import count_text

log = logging.getLogger(__name__)


def watch_old_urls(name: str, plan: CrawlPlan) -> str:
    """What is to be said of lost URLs after a run of a site, "" for nothing. Logs what fails.

    A loss that nobody could be told is found again after the next run.
    """
    now = time.time()
    try:
        with STATE_DB.reading(plan.state) as db:
            rows = register.due(db, now)
        ends = live_ends([row.url for row in rows], plan.config, plan.source)
        reported = {row.url for row in rows if row.reported}
        lost = [end for end in ends if end.ended == "lost" and end.url not in reported]
        named = [f"{end.url}: {end.sentence}" for end in lost]
        lead = "leads" if len(lost) == 1 else "lead"
        sentence = f"{count_text(len(lost), 'old URL')} of the site {lead} to no page: {'; '.join(named)}"
        if lost:
            send = partial(send_audit_notifications, plan, name, losses=sentence)
            if anyio.run(send, backend_options=loop_options()).notify_pending:
                return ""
        if ends:
            with written_state(plan.state) as db:
                register.store(db, ends, now)
    except SiteatlasError as error:
        log.warning("the URLs that the site published once were not checked: %s", error)
        return ""
    return sentence if lost else ""
