"""What is said of a site in sentences: how its last run compares, its audits, who was not told, what Google says."""

from collections.abc import Iterator

from crawler.cli.schedule_words import moment
from crawler.cli.status_looking import Trend
from crawler.cli.words import clock
from crawler.evidence.audits import AuditStanding
from crawler.ledger import ChannelTold
from crawler.quantities import count
from sitemap import safe


def trend(of: Trend) -> str:
    """The last run beside those before it."""
    return (
        f"the last run took {clock(of.seconds)}, usually {clock(of.usual_seconds)}; it listed "
        f"{count(of.listed, 'page')}, usually {of.usual_listed:,}; it asked {of.fetched:,} times, usually "
        f"{of.usual_fetched:,}"
    )


def audited(audit: AuditStanding) -> Iterator[str]:
    """The last audit, and what became of one that was begun after it."""
    if audit.last:
        last = audit.last
        doubt = f"; {last.verdict}: {safe(last.why)}" if last.why else ""
        yield f"audited on {moment(last.started)}: {last.sentence}{doubt}"
    if audit.holder:
        yield f"an audit is going on, in process {audit.holder}"
    elif audit.trouble:
        yield f"the last audit told nothing: {safe(audit.trouble)}"


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
