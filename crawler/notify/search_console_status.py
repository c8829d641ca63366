"""What Google made of the sitemap, which it reads when it likes: looked at now and then, and kept in the ledger."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crawler.notify.ledger import SubmissionStatus
from crawler.notify.ledger_status import DeliveryReport
from crawler.notify.notice import SendResult
from crawler.notify.retry import catch_all
from crawler.notify.session import NotifySession

if TYPE_CHECKING:  # with what signs its requests
    from crawler.notify.channels.search_console import SearchConsoleChannel


async def read_submission_status(
    desk: NotifySession, console: "SearchConsoleChannel", told: Sequence[DeliveryReport]
) -> SubmissionStatus | None:
    """The last that is known of it, None: nothing is. ``told`` is what was sent before, in this process.

    What was read when the sitemap was submitted is kept; else a look is taken when it is time for one, or a person
    asks. One that fails is a note and nothing else: it is taken again after the next run.
    """
    before = desk.ledger.submission_status(console.key)
    if not console.key.startswith(desk.replay.only):
        return before
    status = console.last_status
    if status is None and _is_status_check_due(desk, console.key, before, told):
        answer = await catch_all(console.read_status)
        if isinstance(answer, SendResult):
            desk.note(f"{console.key}: what Google says of the sitemap is not known: {answer.message}")
        else:
            status = answer
    if status is None:
        return before
    now = SubmissionStatus(
        channel=console.key,
        at=desk.clock(),
        submitted=status.submitted,
        downloaded=status.downloaded,
        pending=status.is_pending,
        errors=status.errors,
        warnings=status.warnings,
        sentence=status.sentence,
    )
    desk.ledger.store_submission_status(now)
    if now.errors > (earlier := before.errors if before else 0):
        more = f"{now.errors:,}, and {earlier:,} before" if earlier else f"{now.errors:,}"
        desk.note(
            f"{console.key}: Google finds errors in the sitemap ({more}): see Sitemaps in Search Console"
        )
    return now


def _is_status_check_due(
    desk: NotifySession, key: str, before: SubmissionStatus | None, told: Sequence[DeliveryReport]
) -> bool:
    """Whether a look is to be taken. Who was told just now, or could not be, is left alone until the next run."""
    if desk.replay.refresh_status:
        return True
    every = desk.plan.config.search_console.check_interval
    is_old = before is None or not 0 <= desk.clock() - before.at < every
    return is_old and not any(each.channel == key for each in told)
