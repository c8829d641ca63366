"""What is said of a site in sentences: how its last run compares, its audits, who was not told, what Google says."""

from collections.abc import Iterator
from typing import Final

from crawler.audit.compare.history import AuditStanding
from crawler.audit.verdict import Kind
from crawler.cli.status_collect import Trend
from crawler.notify.ledger_status import ChannelTold
from crawler.schedule.words import moment
from crawler.units import clock, count
from sitemap import safe

_PART: Final = 0.1  # of what is usual: what differs by less is as ever
_MOMENT: Final = 10.0  # seconds that a run may take more or less than usual, however short it is


def trend(of: Trend) -> str:
    """In what the last run differs from those before it; "" when it was as ever."""
    told = []
    if _differs(of.seconds, of.usual_seconds, _MOMENT):
        told.append(f"took {clock(of.seconds)}, usually {clock(of.usual_seconds)}")
    if _differs(of.listed, of.usual_listed):
        told.append(f"listed {count(of.listed, 'page')}, usually {of.usual_listed:,}")
    if _differs(of.fetched, of.usual_fetched):
        told.append(f"sent {count(of.fetched, 'request')}, usually {of.usual_fetched:,}")
    return f"the last run {'; it '.join(told)}" if told else ""


def _differs(now: float, usual: float, least: float = 0.0) -> bool:
    return abs(now - usual) > max(usual * _PART, least)


def audited(audit: AuditStanding) -> Iterator[str]:
    """The last audit, and what became of one that was begun after it."""
    if audit.last:
        last = audit.last
        about = "no search for orphans" if last.verdict == Kind.NOTHING else last.verdict
        doubt = f"; {about}: {safe(last.why)}" if last.why else ""
        yield f"audited on {moment(last.started)}: {last.sentence}{doubt}"
    if audit.holder:
        yield f"an audit is active, in process {audit.holder}"
    elif audit.trouble:
        yield f"the last audit failed: {safe(audit.trouble)}"


def untold(channel: ChannelTold) -> Iterator[str]:
    """What one of those who are told was not told yet, or refused."""
    for each in channel.outstanding:
        yield f"{safe(channel.key)} could not be told yet {safe(each)}"
    for each in channel.refused:
        yield f"{safe(channel.key)} refused {safe(each)}"


def read(channel: ChannelTold) -> Iterator[str]:
    """What Google made of the sitemap."""
    if reading := channel.reading:
        yield f"{safe(channel.key)}: {safe(reading.sentence)} (asked on {moment(reading.at)})"
