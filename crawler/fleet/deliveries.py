"""Claims of notifications in PostgreSQL: a notice is sent by the worker that claims it first, and by no other.

A claim that its worker neither confirmed nor gave back stays: the notice may have been sent before the worker died.
``fleet status`` shows it, and only a person can know whether to send it again: ``fleet confirm`` and ``fleet resend``
say so. The state of the site keeps such a notice among the refused ones, so that it can be sent unchanged.
See ``crawler/notify/delivery.py`` for the side of the run.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import anyio
import anyio.lowlevel
from msgspec.structs import replace

from crawler.fetch.permits import decode_line, encode_line
from crawler.fleet.database import FleetDatabase, FleetUnavailable, rows
from crawler.notify.delivery import ClaimAnswer, ClaimMessage, ClaimResult

_KEEP_DAYS: Final = 7  # a run is repeated long before
_RETRY: Final = 1.0  # seconds until the database is tried again
WANTED: Final = "d.again > d.claimed AND d.delivered IS NULL"
"""The condition of a claim d whose notice a person wants to be sent again, and that no run has claimed since."""
UNSURE: Final = """d.delivered IS NULL
  AND (d.epoch <> s.epoch OR s.lease_until IS NULL OR s.lease_until <= now())"""
"""The condition of a claim d whose worker failed: a run that is under way still confirms its notices."""
ID_LENGTH: Final = 12
"""The characters of the key of a notice that name it for a person."""
_CLAIM: Final = f"""
INSERT INTO delivery AS d (site, notice, epoch, what)
  SELECT name, %(notice)s, epoch, %(what)s FROM site WHERE name = %(site)s AND epoch = %(epoch)s AND lease_until > now()
ON CONFLICT (site, notice) DO UPDATE SET
  epoch = CASE WHEN {WANTED} THEN excluded.epoch ELSE d.epoch END,
  claimed = CASE WHEN {WANTED} THEN now() ELSE d.claimed END
RETURNING CASE WHEN epoch = %(epoch)s THEN '{ClaimResult.GRANTED}' WHEN delivered IS NULL THEN '{ClaimResult.UNSURE}'
  ELSE '{ClaimResult.SENT}' END AS result"""  # noqa: S608 - our own constants
_SENT: Final = """UPDATE delivery SET delivered = now()
  WHERE site = %(site)s AND notice = %(notice)s AND epoch = %(epoch)s"""
# one that a person wanted to be sent again stays for that person
_UNSENT: Final = """DELETE FROM delivery
  WHERE site = %(site)s AND notice = %(notice)s AND epoch = %(epoch)s AND delivered IS NULL AND again IS NULL"""
_CHOSEN: Final = f"""d.site = s.name AND {UNSURE}
  AND (d.site = ANY(%(names)s) OR left(d.notice, {ID_LENGTH}) = ANY(%(names)s))
  RETURNING d.site, left(d.notice, {ID_LENGTH}) AS id"""
_CONFIRM: Final = f"UPDATE delivery d SET delivered = now() FROM site s WHERE {_CHOSEN}"  # noqa: S608 - our own
_RESEND: Final = f"UPDATE delivery d SET again = now() FROM site s WHERE s.retired IS NULL AND {_CHOSEN}"  # noqa: S608
_WAKE: Final = "UPDATE site SET next_at = now() WHERE name = ANY(%(names)s) AND lease_until IS NULL"
_FORGET: Final = f"DELETE FROM delivery WHERE claimed < now() - interval '{_KEEP_DAYS} days'"  # noqa: S608

Send = Callable[[bytes], Awaitable[None]]


class RunDeliveries:
    """The notices of one leased run. ``store`` is awaited before the first notice is claimed.

    ``store`` stores the state that the notices follow from, and returns whether it is stored: a run that is repeated
    from an older state could find other changes, whose notices have other names, and tell the same pages again. So
    without it, no changes are told. That state has the next notice of each channel. So ``store`` is awaited again
    before a channel hears of later changes.
    """

    def __init__(
        self, fleet: FleetDatabase, site: str, epoch: int, store: Callable[[], Awaitable[bool]] | None = None
    ) -> None:
        self._fleet = fleet
        self._store = store
        self._asked: dict[str, str] = {}  # where the changes begin that each channel hears of, in the stored state
        self._values = {"site": site, "epoch": epoch}
        self._waiting: deque[ClaimMessage] = deque()
        self._news = anyio.Event()

    def hear(self, line: bytes) -> None:
        """Take a line of the run's standard output, which may be about a notice."""
        if message := decode_line(line, ClaimMessage):
            self._waiting.append(message)
            self._news.set()

    async def talk(self, send: Send) -> None:
        """Answer the run until it has ended. An answer waits until the database can be reached."""
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            while self._waiting:
                await self._answer(self._waiting[0], send)

    async def finish(self) -> None:
        """Record what the run told last, after its end. Raises FleetUnavailable.

        A notice that the run only asked for was not sent, so that its claim ends: the database may have it although
        the connection ended before it said so. The next run sends the notice.
        """
        while self._waiting:
            message = self._waiting[0]
            await self._record(replace(message, claim="unsent") if message.claim == "ask" else message)
            self._waiting.popleft()

    async def _answer(self, message: ClaimMessage, send: Send) -> None:
        """Answer the message that waits first, or leave it there if the database is away."""
        answer: ClaimAnswer | None = ClaimAnswer(message.notice, ClaimResult.LATER)
        try:
            if await self._may_claim(message):
                with anyio.CancelScope(shield=True):  # else nobody would know whether the notice is claimed
                    answer = await self._record(message)
        except FleetUnavailable:
            await anyio.sleep(_RETRY)
            return
        await anyio.lowlevel.checkpoint_if_cancelled()  # the run has ended without this answer
        self._waiting.popleft()
        if answer:
            await send(encode_line(answer))

    async def _may_claim(self, message: ClaimMessage) -> bool:
        """Whether a notice may be claimed: the state that it follows from is stored, if it follows from one."""
        if not self._store or message.claim != "ask":
            return True
        channel = message.what.partition(":")[0]
        if not self._asked or self._asked.get(channel, message.changes) != message.changes:
            if not await self._store():
                return not message.changes
            self._asked.clear()
        self._asked[channel] = message.changes
        return True

    async def _record(self, message: ClaimMessage) -> ClaimAnswer | None:
        """Record a message, and return the answer: None when there is none, and when the lease is over."""
        if message.claim != "ask":
            statement = _SENT if message.claim == "sent" else _UNSENT
            await self._fleet.rows(statement, notice=message.notice, **self._values)
            return None
        found = await self._fleet.rows(_CLAIM, notice=message.notice, what=message.what, **self._values)
        return ClaimAnswer(message.notice, ClaimResult(found[0]["result"])) if found else None


async def confirm_deliveries(fleet: FleetDatabase, names: Sequence[str]) -> list[str]:
    """Record that these notices were sent, by their ids or sites; returns those that were found."""
    return _found(await fleet.rows(_CONFIRM, names=list(names)), names)


async def resend_deliveries(fleet: FleetDatabase, names: Sequence[str]) -> list[str]:
    """Let a worker send these notices again, as :func:`confirm_deliveries`."""
    async with fleet.transaction() as connection:
        chosen = await rows(connection, _RESEND, names=list(names))
        await rows(connection, _WAKE, names=[row["site"] for row in chosen])
    return _found(chosen, names)


def _found(chosen: Sequence[dict[str, str]], names: Sequence[str]) -> list[str]:
    known = {row[key] for row in chosen for key in ("id", "site")}
    return [name for name in dict.fromkeys(names) if name in known]


async def forget_deliveries(fleet: FleetDatabase) -> None:
    """Delete the claims of a week ago. Raises StorageError."""
    await fleet.rows(_FORGET)
