"""Politeness of a fleet: one run at a time sends requests to an origin, and a Retry-After holds for all runs.

PostgreSQL has one row per origin (or per address), which a run leases for some seconds, renews while it needs it, and
gives back as soon as no request is in flight when another run wants it. The lease is the run's deadline: what hangs, or
is cut off from PostgreSQL, starts no request after it. See ``crawler/fetch/permits.py`` for the side of the run.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio
import anyio.to_thread
import msgspec
from psycopg.types.json import Jsonb

from crawler.errors import StorageError
from crawler.fetch.permits import OriginGrant, OriginMessage, decode_line, encode_line
from crawler.fleet.database import FleetDatabase
from crawler.model import Url
from crawler.state.lock import boot_time
from crawler.url.normalize import host_of

_MARGIN: Final = 1.0  # seconds before the end of a lease at which a run starts no more request
_WANTED: Final = 5.0  # seconds for which a wish counts; a run repeats it
_AFTER_END: Final = 1.0  # seconds until an origin of a run that has ended is free
_ADDRESS_FOR: Final = 300.0  # seconds for which the address of a host is remembered
_RETRY: Final = 1.0  # seconds until the database is tried again
_MAX_BATCH: Final = 1000

_IS_FREE: Final = "(o.until IS NULL OR o.until <= now())"
_IS_MINE: Final = "(o.site = excluded.site AND o.epoch = excluded.epoch)"
_TAKE: Final = f"""
INSERT INTO origin AS o (origin, site, epoch, until)
SELECT w.origin, w.site, w.epoch, now() + %(lease)s * interval '1 s'
  FROM jsonb_to_recordset(%(wishes)s) AS w (origin text, site text, epoch bigint) ORDER BY 1
ON CONFLICT (origin) DO UPDATE SET
  site = CASE WHEN {_IS_FREE} THEN excluded.site ELSE o.site END,
  epoch = CASE WHEN {_IS_FREE} THEN excluded.epoch ELSE o.epoch END,
  wanted = CASE WHEN {_IS_FREE} THEN NULL WHEN {_IS_MINE} THEN o.wanted ELSE now() END,
  until = CASE WHEN {_IS_FREE} OR {_IS_MINE} AND coalesce(o.wanted < now() - {_WANTED} * interval '1 s', true)
          THEN excluded.until ELSE o.until END
RETURNING origin, site, epoch, extract(epoch FROM until - now())::float8 AS seconds,
  coalesce(wanted >= now() - {_WANTED} * interval '1 s', false) AS is_wanted,
  greatest(0, extract(epoch FROM not_before - now()))::float8 AS pause"""  # noqa: S608 - our own constants
_RELEASE: Final = """
UPDATE origin o SET site = NULL, epoch = NULL, until = now() + w.seconds * interval '1 s'
  FROM jsonb_to_recordset(%(done)s) AS w (origin text, site text, epoch bigint, seconds float8)
  WHERE o.origin = w.origin AND o.site = w.site AND o.epoch = w.epoch"""
_PAUSE: Final = """
INSERT INTO origin AS o (origin, not_before) VALUES (%(origin)s, now() + %(seconds)s * interval '1 s')
ON CONFLICT (origin) DO UPDATE SET not_before = greatest(o.not_before, excluded.not_before)"""
_LOCATE: Final = """UPDATE site SET address = w.address
  FROM jsonb_to_recordset(%(found)s) AS w (site text, origin text, address text)
  WHERE name = w.site AND site.origin = w.origin AND site.address IS DISTINCT FROM w.address"""
_FORGET: Final = """
DELETE FROM origin WHERE coalesce(until, '-infinity') < now() - interval '1 day'
  AND coalesce(not_before, '-infinity') < now()"""

log = logging.getLogger(__name__)


class RunOrigins:
    """The origins of one run. ``tell`` takes lines for its process."""

    def __init__(self, broker: "OriginBroker", site: str, epoch: int, tell: Callable[[bytes], None]) -> None:
        self.site, self.epoch = site, epoch
        self.tell = tell
        self.deadlines: dict[str, dict[str, float]] = {}  # of its origins, by their keys
        self._broker = broker

    def hear(self, line: bytes) -> None:
        """Take a line of the run's standard output, which may be about an origin."""
        if message := decode_line(line, OriginMessage):
            self._broker.put(self, message)


class OriginBroker:
    """Leases origins in PostgreSQL for all runs of a worker, many with one statement.

    ``lease`` is in seconds. With ``by_address``, origins on the same address count as one.
    """

    def __init__(self, fleet: FleetDatabase, *, lease: float = 15.0, by_address: bool = False) -> None:
        self.fleet = fleet
        self._lease = lease
        self._known: dict[str, tuple[float, str]] | None = {} if by_address else None  # addresses of hosts
        self._messages = asyncio.Queue[tuple[RunOrigins, OriginMessage]](100_000)

    def put(self, run: RunOrigins, message: OriginMessage) -> None:
        """Take a message of a run. One that finds no room is lost, and repeated by the run."""
        with suppress(asyncio.QueueFull):
            self._messages.put_nowait((run, message))

    @asynccontextmanager
    async def run(self, site: str, epoch: int, tell: Callable[[bytes], None]) -> AsyncIterator[RunOrigins]:
        """A run, which holds no origin any more when this is left."""
        run = RunOrigins(self, site, epoch, tell)
        try:
            yield run
        finally:
            with anyio.CancelScope(shield=True), suppress(StorageError):  # else its leases end by themselves
                await self._release([(key, run, _AFTER_END) for key in run.deadlines])

    async def serve(self) -> None:
        """Answer the messages of the runs, until it is cancelled. While the database is away, nothing is granted."""
        is_away = False
        while True:
            batch = [await self._messages.get()]
            while len(batch) < _MAX_BATCH and not self._messages.empty():
                batch.append(self._messages.get_nowait())
            try:
                await self._answer(batch)
                is_away = False
            except StorageError as error:
                if not is_away:
                    log.warning("no origin can be leased: %s", error)
                is_away = True
                for run, message in batch:
                    if message.act == "pause":  # the others are repeated, or end by themselves
                        self.put(run, message)
                await anyio.sleep(_RETRY)

    async def _answer(self, batch: Iterable[tuple[RunOrigins, OriginMessage]]) -> None:
        wishes: dict[tuple[RunOrigins, str], str] = {}  # the keys of origins
        for run, message in batch:
            key = await self._key(message.origin)
            if message.act == "pause":
                await self.fleet.rows(_PAUSE, origin=key, seconds=message.seconds)
            elif message.act == "release":
                await self._give_back(run, key, message)
            else:
                wishes[run, message.origin] = key
        found = [
            {"site": run.site, "origin": origin, "address": key}
            for (run, origin), key in wishes.items()
            if key != origin and origin not in run.deadlines.get(key, {})
        ]
        if found:  # so that the next runs on these addresses are queued one after the other
            await self.fleet.rows(_LOCATE, found=Jsonb(found))
        answers: dict[RunOrigins, list[OriginGrant]] = {}
        while wishes:  # a statement takes each row once
            taken = {key: run for (run, _), key in wishes.items()}
            grants = await self._take(taken)
            for run, origin in [wish for wish, key in wishes.items() if taken[key] is wish[0]]:
                grant = grants[wishes.pop((run, origin))]
                run.deadlines.setdefault(grant.origin, {})[origin] = grant.deadline
                answers.setdefault(run, []).append(msgspec.structs.replace(grant, origin=origin))
        for run, answer in answers.items():
            run.tell(encode_line(answer))

    async def _take(self, wishes: dict[str, RunOrigins]) -> dict[str, OriginGrant]:
        before = boot_time()
        values = [{"origin": key, "site": run.site, "epoch": run.epoch} for key, run in wishes.items()]
        grants = {}
        for row in await self.fleet.rows(_TAKE, wishes=Jsonb(values), lease=self._lease):
            run = wishes[row["origin"]]
            is_ours = (row["site"], row["epoch"]) == (run.site, run.epoch)
            deadline = before + row["seconds"] - _MARGIN if is_ours else 0.0
            grants[row["origin"]] = OriginGrant(row["origin"], deadline, row["pause"] or 0.0, row["is_wanted"])
        return grants

    async def _give_back(self, run: RunOrigins, key: str, message: OriginMessage) -> None:
        """Free an origin, unless the run still uses another one with the same key."""
        others = run.deadlines.get(key, {})
        others.pop(message.origin, None)
        if all(deadline <= boot_time() for deadline in others.values()):
            await self._release([(key, run, message.seconds)])

    async def _release(self, done: Sequence[tuple[str, RunOrigins, float]]) -> None:
        values = [{"origin": key, "site": run.site, "epoch": run.epoch, "seconds": left} for key, run, left in done]
        await self.fleet.rows(_RELEASE, done=Jsonb(values))

    async def _key(self, origin: str) -> str:
        """The origin, or the lowest address of its host, so that all workers take the same one, if it has one."""
        if self._known is None:
            return origin
        host, now = host_of(Url(f"{origin}/")), time.monotonic()
        expires, address = self._known.get(host, (0.0, ""))
        if now >= expires:
            address = ""
            with suppress(OSError, UnicodeError):
                found = await anyio.getaddrinfo(host.strip("[]"), None)
                address = min((str(answer[4][0]) for answer in found), default="")
            self._known[host] = (now + _ADDRESS_FOR, address)
        return address or origin


async def forget_origins(fleet: FleetDatabase) -> None:
    """Delete the origins that no run has used for a day. Raises StorageError."""
    await fleet.rows(_FORGET)
