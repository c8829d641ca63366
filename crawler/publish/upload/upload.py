"""Uploads the published files to another place, in an order that survives a crash at any point.

::

    files | check | manifest ─durable─▶ stylesheets, feed, children ─all there─▶ the index ─▶ remove

Readers find the old index or the new one, and every file that it names. A file that left the set stays
``upload.grace_period`` seconds, and is removed only if it is still as we uploaded it.
"""

import os
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

import anyio
from msgspec import Struct

from crawler.config.config import Config
from crawler.config.plan import CrawlPlan
from crawler.errors import StorageError, single_error
from crawler.fetch.paced_fetcher import Retries, Sleep
from crawler.fetch.retry import RetryPolicy
from crawler.packages import missing_packages
from crawler.plugins import PluginKind, load_plugin
from crawler.publish.recent_feed import recent_feed_url
from crawler.publish.upload.files import UploadManifest, digests_of, lead_file_name, local_files
from crawler.publish.upload.plugin import PluginTarget
from crawler.publish.upload.target import (
    LocalFile,
    PluginAddress,
    RemoteFile,
    S3Address,
    UploadError,
    UploadTarget,
    parse_target_address,
    target_name,
)
from crawler.state.lock import RUN_LEASE, hold_lock
from crawler.state.runs import Run

T = TypeVar("T")

MAX_CONCURRENT: Final = 4  # uploads at the same time


class UploadRetries:
    """Retries upload operations. ``sleep`` takes seconds."""

    def __init__(self, retries: int, sleep: Sleep) -> None:
        self._policy = RetryPolicy(retries, longest=60.0)
        self._sleep = sleep

    async def run(self, operation: Callable[[], Awaitable[T]]) -> T:
        """Run one operation. Raises the UploadError of the last try."""
        async for _ in Retries(self._policy, sleep=self._sleep):
            try:
                return await operation()
            except UploadError as error:
                last_error = error
                if not error.may_retry:
                    break
        raise last_error

    async def run_all(self, items: Iterable[T], operation: Callable[[T], Awaitable[None]]) -> None:
        """Run an operation on each item, a few at a time. Raises the first UploadError; then no other item is begun."""
        remaining = iter(items)

        async def work() -> None:
            for item in remaining:
                await self.run(partial(operation, item))

        try:
            async with anyio.create_task_group() as group:
                for _ in range(MAX_CONCURRENT):
                    group.start_soon(work)
        except BaseExceptionGroup as group_error:
            raise _first_error(group_error) from None


def _first_error(group: BaseException) -> BaseException:
    """The first error, when several tasks failed in the same way."""
    error = single_error(group)
    while isinstance(error, BaseExceptionGroup):
        failures, others = error.split(UploadError)
        if others is not None or failures is None:
            return error
        error = failures.exceptions[0]
    return error


_LIBRARIES: Final = {"boto3": "s3", "botocore": "s3", "asyncssh": "sftp"}  # from the module to its extra
UPLOAD_DIRECTORY: Final = "upload"
"""The directory of the manifest, in that of the site's state."""


class UploadResult(Struct, frozen=True, kw_only=True):
    """The result of an upload. ``destination`` has no secrets; ``bytes`` are those of the files ``sent``.

    ``unchanged`` files were there already. ``waiting`` files left the set and will be ``removed`` later.
    """

    destination: str
    sent: int = 0
    unchanged: int = 0
    removed: int = 0
    waiting: int = 0
    bytes: int = 0


def connect_target(config: Config, say: Callable[[str], None]) -> UploadTarget:
    """The target that ``upload.to`` names. ``say`` gets messages for a person. No request is sent yet.

    Raises UsageError for invalid settings: a bad address, an extra that is not installed, a missing secret.
    """
    section = config.upload
    address = parse_target_address(section.to)
    if isinstance(address, PluginAddress):
        return PluginTarget(load_plugin(config, PluginKind.UPLOAD, address.name, "upload.to"), address)
    try:
        if isinstance(address, S3Address):
            from crawler.publish.upload.s3 import S3Target  # noqa: PLC0415 - an extra, and slow to load

            return S3Target(section, address)
        from crawler.publish.upload.sftp import SftpTarget  # noqa: PLC0415 - an extra

        return SftpTarget(section, address, int(config.output.mode, 8), say)
    except ModuleNotFoundError as error:
        if (extra := _LIBRARIES.get((error.name or "").partition(".")[0])) is None:
            raise
        raise missing_packages(f"upload.to = {address.display_name}", extra) from None


def _ignore(_: str) -> None:
    """Drop a message."""


def check_upload(plan: CrawlPlan) -> None:
    """Check the upload settings before a crawl, without a request. Raises UsageError."""
    if plan.config.upload.to:
        recent_feed_url(plan)
        connect_target(plan.config, _ignore)


def why_not_uploaded(plan: CrawlPlan, run: Run) -> str:
    """Why the files of ``run`` are not, as far as the manifest knows, at the target; "" when they are.

    Sends no request. Raises UsageError.
    """
    if not plan.config.upload.to:
        return ""
    target = target_name(plan.config.upload)
    try:
        manifest = UploadManifest(plan.state / UPLOAD_DIRECTORY, target)
        files = local_files(plan, run, manifest.data.here)
    except StorageError as error:
        return str(error)
    uploads = ((local, manifest.sent.get(local.name)) for local in files)
    if all(sent and sent.sure and sent.sha256 == local.sha256 for local, sent in uploads):
        return ""
    return f"the files are not yet at {target}"


async def upload(
    plan: CrawlPlan,
    run: Run,
    say: Callable[[str], None] = _ignore,
    *,
    clock: Callable[[], float] = time.time,
    sleep: Sleep = anyio.sleep,
) -> UploadResult:
    """Make the target have the files that ``run`` published; ``say`` gets messages for a person.

    To be called after every run that published or found nothing changed: it completes an earlier upload, repairs files
    that were altered or removed there, and skips unchanged files. ``clock`` gives Unix time. Raises UsageError,
    StateInUse when another process uploads the files of this site, and StorageError when the upload failed: the remote
    set stays whole then, and the next run uploads what is missing.
    """
    target = connect_target(plan.config, say)
    folder = plan.state / UPLOAD_DIRECTORY
    descriptor = hold_lock(folder)
    try:
        manifest = UploadManifest(folder, target.display_name)
        index = manifest.sent.get(lead_file_name(plan))
        was_uploaded = bool(index and (index.sure or index.former))
        files = await anyio.to_thread.run_sync(local_files, plan, run, manifest.data.here)
        manifest.data.here = digests_of(files)
        transfer = _Transfer(
            target, manifest, lead_file_name(plan), UploadRetries(plan.config.upload.retries, sleep), say
        )
        try:
            return await transfer.run(files, clock, plan.config.upload.grace_period)
        finally:
            manifest.save()
    except UploadError as error:
        whole = "The sitemap there can still be used, and the" if was_uploaded else "The"
        raise StorageError(
            f"the files could not be uploaded to {target.display_name}: {error}. {whole} next run continues the upload"
        ) from None
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class _Transfer:
    """One upload to an entered target. ``index`` is the name of the sitemap index."""

    target: UploadTarget
    manifest: UploadManifest
    index: str
    retries: UploadRetries
    say: Callable[[str], None]

    async def run(self, files: list[LocalFile], clock: Callable[[], float], grace_period: float) -> UploadResult:
        """Upload ``files``, the index or only file last. Raises UploadError, StorageError."""
        if not files:
            return UploadResult(destination=self.target.display_name)
        listed = {local.name for local in files}
        async with self.target:
            remote = await self.retries.run(lambda: self.target.list_files({*listed, *self.manifest.sent}))
            if pending := self.manifest.pending():
                await self.retries.run(lambda: self.target.remove_leftovers(pending))
            missing = await self._missing(files, remote)
            await self._send(missing, files[-1])
            now = clock()
            self.manifest.mark_unlisted(listed, now)
            removed = await self._remove(remote, now - grace_period)
        return UploadResult(
            destination=self.target.display_name,
            sent=len(missing),
            unchanged=len(files) - len(missing),
            removed=removed,
            waiting=sum(name not in listed for name in self.manifest.sent),
            bytes=sum(local.size for local in missing),
        )

    async def _missing(self, files: list[LocalFile], remote: dict[str, RemoteFile]) -> list[LocalFile]:
        """The files that are missing or different at the target."""
        missing: set[str] = set()

        async def check(local: LocalFile) -> None:
            if not await self._is_there(local, remote.get(local.name)):
                missing.add(local.name)

        await self.retries.run_all(files, check)
        return [local for local in files if local.name in missing]

    async def _is_there(self, local: LocalFile, remote: RemoteFile | None) -> bool:
        sent, metadata = self.manifest.sent.get(local.name), self.target.metadata(local)
        if remote is None:
            return False
        if sent is not None and sent.matches(remote):
            is_same = (sent.sha256, sent.manner) == (local.sha256, metadata)
        elif sent is not None and (sent.sure or remote in sent.former):
            is_same = False  # somebody replaced it, or our upload did not happen
        else:
            same_file = await self.target.find_same(local)
            is_same, remote = same_file is not None, same_file or remote
        if is_same:
            self.manifest.confirm(local, metadata, remote)
        return is_same

    async def _send(self, missing: list[LocalFile], lead: LocalFile) -> None:
        """Upload the files, the index or only file after all others."""
        target = self.target
        self.manifest.add_pending((local, target.metadata(local), target.mark(local)) for local in missing)

        async def put(local: LocalFile) -> None:
            RUN_LEASE.check()
            self.manifest.confirm(local, target.metadata(local), await target.put(local))

        await self.retries.run_all([local for local in missing if local is not lead], put)
        if lead in missing:
            await self.retries.run(lambda: put(lead))

    async def _remove_one(self, name: str) -> None:
        RUN_LEASE.check()
        await self.target.remove(name)

    async def _remove(self, remote: dict[str, RemoteFile], before: float) -> int:
        """Remove what left the set long enough ago. A failed removal is reported, and retried by the next run."""
        removed = 0
        unlisted = self.manifest.unlisted_before(before)
        # an index leaves before its files: while it is there, so are the files that it names
        for name, sent in sorted(unlisted, key=lambda entry: entry[0] != self.index):
            try:
                if sent.is_ours(remote.get(name)):
                    await self.retries.run(partial(self._remove_one, name))
                    removed += 1
            except UploadError as error:
                self.say(
                    f"{name} is no longer part of the sitemap, but could not be removed from "
                    f"{self.target.display_name}: {error}"
                )
                break
            del self.manifest.sent[name]
        return removed
