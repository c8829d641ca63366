"""What is said of a site in sentences: how its last run compares, its audits, who was not told, what Google says."""

from collections.abc import Iterator
from typing import Final

from crawler.audit.compare.history import AuditStatus
from crawler.audit.verdict import VerdictKind
from crawler.cli.status_collect import RunTrend
from crawler.notify.ledger_status import ChannelStatus
from crawler.schedule.words import local_time
from crawler.units import clock_text, count_text
from sitemap import safe

_MIN_DIFFERENCE: Final = 0.1  # of what is usual: what differs by less is as ever
_MIN_SECONDS: Final = 10.0  # seconds that a run may take more or less than usual, however short it is


def trend_text(of: RunTrend) -> str:
    """In what the last run differs from those before it; "" when it was as ever."""
    told = []
    if _difference_text(of.seconds, of.usual_seconds, _MIN_SECONDS):
        told.append(f"took {clock_text(of.seconds)}, usually {clock_text(of.usual_seconds)}")
    if _difference_text(of.listed, of.usual_listed):
        told.append(f"listed {count_text(of.listed, 'page')}, usually {of.usual_listed:,}")
    if _difference_text(of.fetched, of.usual_fetched):
        told.append(f"sent {count_text(of.fetched, 'request')}, usually {of.usual_fetched:,}")
    return f"the last run {'; it '.join(told)}" if told else ""


def _difference_text(now: float, usual: float, least: float = 0.0) -> bool:
    return abs(now - usual) > max(usual * _MIN_DIFFERENCE, least)


def audit_text(audit: AuditStatus) -> Iterator[str]:
    """The last audit, and what became of one that was begun after it."""
    if audit.last:
        last = audit.last
        about = "no search for orphans" if last.verdict == VerdictKind.NOTHING else last.verdict
        doubt = f"; {about}: {safe(last.why)}" if last.why else ""
        yield f"audited on {local_time(last.started)}: {last.sentence}{doubt}"
    if audit.holder:
        yield f"an audit is active, in process {audit.holder}"
    elif audit.trouble:
        yield f"the last audit failed: {safe(audit.trouble)}"


def notify_pending_text(channel: ChannelStatus) -> Iterator[str]:
    """What one of those who are told was not told yet, or refused."""
    for each in channel.outstanding:
        yield f"{safe(channel.key)} could not be told yet {safe(each)}"
    for each in channel.refused:
        yield f"{safe(channel.key)} refused {safe(each)}"


def search_console_text(channel: ChannelStatus) -> Iterator[str]:
    """What Google made of the sitemap."""
    if reading := channel.reading:
        yield f"{safe(channel.key)}: {safe(reading.sentence)} (asked on {local_time(reading.at)})"
