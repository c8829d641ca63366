"""Publishing elsewhere what was published in the directory, in an order that a crash at any point leaves whole.

::

    pieces | look | intend ─durable─▶ stylesheets, feed, children ─all there─▶ the file that leads to them ─▶ remove

Whoever reads there meanwhile finds the old index or the new one, and every file that it names. What left the set stays
``upload.grace_period`` seconds, and is removed only if it still is as we put it there.
"""

import os
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final, TypeVar

import anyio
from msgspec import Struct

from crawler.config.plan import CrawlPlan
from crawler.errors import StorageError, single_error
from crawler.fetch import retry_loop
from crawler.fetch.retry import RetryPolicy
from crawler.fetch.retry_loop import Sleep
from crawler.publish.recent_feed import recent_feed_url
from crawler.publish.upload.files import digests_of, lead_file_name, local_files
from crawler.publish.upload.manifest import UploadManifest
from crawler.publish.upload.target import (
    LocalFile,
    RemoteFile,
    UploadError,
    UploadTarget,
    connect_target,
    target_name,
)
from crawler.state.lock import hold_lock
from crawler.state.runs import Run

T = TypeVar("T")


MAX_CONCURRENT: Final = 4  # files on their way


class UploadRetries:
    """How often things are tried again. ``sleep`` takes seconds."""

    def __init__(self, retries: int, sleep: retry_loop.Sleep) -> None:
        self._policy = RetryPolicy(retries, longest=60.0)
        self._sleep = sleep

    async def run(self, what: Callable[[], Awaitable[T]]) -> T:
        """Do one thing. Raises NotTaken as the last try did."""
        async for _ in retry_loop.Retries(self._policy, sleep=self._sleep):
            try:
                return await what()
            except UploadError as error:
                failed = error
                if not error.may_retry:
                    break
        raise failed

    async def run_all(self, items: Iterable[T], do: Callable[[T], Awaitable[None]]) -> None:
        """Do something with each, a few at a time. Raises NotTaken for the first that fails; then no other is begun."""
        waiting = iter(items)

        async def work() -> None:
            for item in waiting:
                await self.run(partial(do, item))

        try:
            async with anyio.create_task_group() as group:
                for _ in range(MAX_CONCURRENT):
                    group.start_soon(work)
        except BaseExceptionGroup as group_error:
            raise _first_error(group_error) from None


def _first_error(group: BaseException) -> BaseException:
    """What went wrong first, when the same went wrong several times at once."""
    found = single_error(group)
    while isinstance(found, BaseExceptionGroup):
        refused, others = found.split(UploadError)
        if others is not None or refused is None:
            return found
        found = refused.exceptions[0]
    return found


UPLOAD_DIRECTORY: Final = "upload"

"""The directory in that of a site where its uploads are remembered."""


class UploadResult(Struct, frozen=True, kw_only=True):
    """What an upload did. ``destination`` is told without secrets; ``bytes`` are those of the files ``sent``.

    ``unchanged`` files were there as they should be. ``waiting`` files left the set and will be ``removed`` later.
    """

    destination: str
    sent: int = 0
    unchanged: int = 0
    removed: int = 0
    waiting: int = 0
    bytes: int = 0


def _ignore(_: str) -> None:
    """Nobody wants to know."""


def check_upload(plan: CrawlPlan) -> None:
    """Check everything that can be checked before a crawl, without asking the place itself. Raises UsageError."""
    if plan.config.upload.to:
        recent_feed_url(plan)
        connect_target(plan.config.upload, int(plan.config.output.mode, 8), _ignore)


def why_not_uploaded(plan: CrawlPlan, run: Run) -> str:
    """Why what ``run`` published is not, as far as is known here, where ``upload.to`` names; "" when it is.

    Asks nobody. Raises UsageError.
    """
    if not plan.config.upload.to:
        return ""
    place = target_name(plan.config.upload)
    try:
        record = UploadManifest(plan.state / UPLOAD_DIRECTORY, place)
        sent = {
            piece.name: (piece, record.get(piece.name))
            for piece in local_files(plan, run, record.local_digests)
        }
    except StorageError as error:
        return str(error)
    if all(known and known.sure and known.sha256 == piece.sha256 for piece, known in sent.values()):
        return ""
    return f"the files are not yet at {place}"


async def upload(
    plan: CrawlPlan,
    run: Run,
    say: Callable[[str], None] = _ignore,
    *,
    clock: Callable[[], float] = time.time,
    sleep: Sleep = anyio.sleep,
) -> UploadResult:
    """Make the place that ``upload.to`` names have what ``run`` published; ``say`` is told what a person should know.

    To be called after every run that published, or would have if anything had changed: what an earlier upload could not
    do is done, what somebody altered or removed there is put again, and what is there is left alone. ``clock`` gives
    Unix time. Raises UsageError, StateInUse when another process uploads the files of this site, and StorageError when
    it could not be done: what was published there stays whole then, and the next run does what is missing.
    """
    place = connect_target(plan.config.upload, int(plan.config.output.mode, 8), say)
    folder = plan.state / UPLOAD_DIRECTORY
    descriptor = hold_lock(folder)
    try:
        record = UploadManifest(folder, place.display_name)
        found = await anyio.to_thread.run_sync(local_files, plan, run, record.local_digests)
        record.set_local_digests(digests_of(found))
        transfer = _Transfer(
            place, record, lead_file_name(plan), UploadRetries(plan.config.upload.retries, sleep), say
        )
        try:
            return await transfer.run(found, clock, plan.config.upload.grace_period)
        finally:
            record.save()
    except UploadError as error:
        raise StorageError(
            f"the files could not be published at {place.display_name}: {error}; what is there is whole, "
            "and the next run "
            "does what is missing"
        ) from None
    finally:
        os.close(descriptor)


class _Transfer:
    """One upload, to a place that was entered. ``index`` is the name of the file that leads to several."""

    def __init__(
        self,
        place: UploadTarget,
        record: UploadManifest,
        index: str,
        tries: UploadRetries,
        say: Callable[[str], None],
    ) -> None:
        self._target, self._manifest, self._index, self._retries, self._say = place, record, index, tries, say

    async def run(
        self, found: list[LocalFile], clock: Callable[[], float], grace_period: float
    ) -> UploadResult:
        """``found`` are the files, the one that leads to the others last. Raises NotTaken, StorageError."""
        if not found:
            return UploadResult(destination=self._target.display_name)
        listed = {piece.name for piece in found}
        async with self._target:
            there = await self._retries.run(
                lambda: self._target.list_files({*listed, *self._manifest.names()})
            )
            if doubtful := self._manifest.pending():
                await self._retries.run(lambda: self._target.remove_leftovers(doubtful))
            missing = await self._missing(found, there)
            await self._send(missing, found[-1])
            now = clock()
            self._manifest.mark_unlisted(listed, now)
            removed = await self._remove(there, now - grace_period)
        return UploadResult(
            destination=self._target.display_name,
            sent=len(missing),
            unchanged=len(found) - len(missing),
            removed=removed,
            waiting=sum(name not in listed for name in self._manifest.names()),
            bytes=sum(piece.size for piece in missing),
        )

    async def _missing(self, found: list[LocalFile], there: dict[str, RemoteFile]) -> list[LocalFile]:
        """The files that are not there as they should be."""
        missing: set[str] = set()

        async def look_at(piece: LocalFile) -> None:
            if not await self._is_there(piece, there.get(piece.name)):
                missing.add(piece.name)

        await self._retries.run_all(found, look_at)
        return [piece for piece in found if piece.name in missing]

    async def _is_there(self, piece: LocalFile, there: RemoteFile | None) -> bool:
        sent, manner = self._manifest.get(piece.name), self._target.metadata(piece)
        if there is None:
            return False
        if sent is not None and sent.matches(there):
            same = (sent.sha256, sent.manner) == (piece.sha256, manner)
        elif sent is not None and (
            sent.sure or there in sent.former
        ):  # others were there, or we were not yet
            same = False
        else:
            held = await self._target.find_same(piece)
            same, there = held is not None, held or there
        if same:
            self._manifest.confirm(piece, manner, there)
        return same

    async def _send(self, missing: list[LocalFile], lead: LocalFile) -> None:
        """Put files there, and the one that leads to the others after all of them."""
        place = self._target
        self._manifest.add_pending((piece, place.metadata(piece), place.mark(piece)) for piece in missing)

        async def put(piece: LocalFile) -> None:
            self._manifest.confirm(piece, place.metadata(piece), await place.put(piece))

        await self._retries.run_all([piece for piece in missing if piece is not lead], put)
        if lead in missing:
            await self._retries.run(lambda: put(lead))

    async def _remove(self, there: dict[str, RemoteFile], before: float) -> int:
        """Remove what left the set long enough ago. What cannot be removed is said, and tried by the next run."""
        removed = 0
        leavers = self._manifest.unlisted_before(before)
        # an index that left with its files goes before them: as long as it is there, so is what it names
        for name, sent in sorted(leavers, key=lambda each: each[0] != self._index):
            try:
                if sent.is_ours(there.get(name)):
                    await self._retries.run(partial(self._target.remove, name))
                    removed += 1
            except UploadError as error:
                self._say(
                    f"{name} left the set and could not be removed from {self._target.display_name}: {error}"
                )
                break
            self._manifest.forget(name)
        return removed
