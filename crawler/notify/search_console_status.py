"""Reads the status of the sitemap in Search Console now and then, and keeps it in the ledger."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crawler.notify.ledger import SubmissionStatus
from crawler.notify.ledger_status import DeliveryReport
from crawler.notify.notice import SendResult
from crawler.notify.retry import catch_all
from crawler.notify.session import NotifySession
from crawler.units import count_text

if TYPE_CHECKING:  # with what signs its requests
    from crawler.notify.channels.search_console import SearchConsoleChannel


async def read_submission_status(
    session: NotifySession, channel: "SearchConsoleChannel | None", reports: Sequence[DeliveryReport]
) -> SubmissionStatus | None:
    """The last known status, None: unknown. ``reports`` are this process's deliveries so far.

    A status that came with a submission is stored; otherwise it is read when a check is due, or a person wants one. A
    failed check is only a note: the next run checks again.
    """
    if channel is None:
        return None
    previous = session.ledger.submission_status(channel.key)
    if not channel.key.startswith(session.replay.only):
        return previous
    status = channel.last_status
    if status is None and _is_status_check_due(session, channel.key, previous, reports):
        result = await catch_all(channel.read_status)
        if isinstance(result, SendResult):
            session.note(f"{channel.key}: the status of the sitemap at Google is unknown: {result.message}")
        else:
            status = result
    if status is None:
        return previous
    current = SubmissionStatus(
        channel=channel.key,
        at=session.clock(),
        submitted=status.submitted,
        downloaded=status.downloaded,
        pending=status.is_pending,
        errors=status.errors,
        warnings=status.warnings,
        sentence=status.sentence,
    )
    session.ledger.store_submission_status(current)
    if current.errors > (previous_errors := previous.errors if previous else 0):
        before = f" (before: {previous_errors:,})" if previous_errors else ""
        session.note(
            f"{channel.key}: Google found {count_text(current.errors, 'error')} in the sitemap{before}; see Sitemaps "
            "in "
            f"Search Console"
        )
    return current


def _is_status_check_due(
    session: NotifySession, key: str, previous: SubmissionStatus | None, reports: Sequence[DeliveryReport]
) -> bool:
    """Whether a check is due. A channel with a delivery in this process waits until the next run."""
    if session.replay.refresh_status:
        return True
    interval = session.plan.config.search_console.check_interval
    is_old = previous is None or not 0 <= session.clock() - previous.at < interval
    return is_old and not any(report.channel == key for report in reports)
