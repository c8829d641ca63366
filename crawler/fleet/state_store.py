"""Where a fleet keeps the snapshots of its sites: a shared disk (``file://``) or a bucket (``s3://``).

A key is ``SITE/GENERATION-EPOCH-SHA256.tar.zst``. Nobody writes a key twice with other bytes: a worker whose lease is
over has an older epoch. The digest in the key shows whether the bytes are still those that were written.
"""

import errno
import logging
import os
import shlex
import shutil
import stat
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote, unquote

import anyio.to_thread
from msgspec import Struct
from typing_extensions import override

from crawler.config.config import Config
from crawler.config.plan import CrawlPlan, plan_crawl
from crawler.errors import StorageError
from crawler.fleet.snapshot import (
    BadSnapshot,
    SnapshotHeader,
    StoreFault,
    new_archive,
    open_plain,
    pack,
    sha256_of,
    unpack,
)
from crawler.publish.write import put_back_published
from sitemap import create_file, make_directory, replacement

MARK: Final = "fleet-id"  # the file that says which fleet a state store belongs to: an empty mount point has none
_SUFFIX: Final = ".tar.zst"
_ATTEMPTS: Final = 2  # to fetch a snapshot: its bytes may be damaged in transit
_ACCOUNTS: Final = (
    "All workers need the same user ID, or a state store that a group of them owns and may write to (chmod g+w)"
)

T = TypeVar("T")
log = logging.getLogger(__name__)


class SnapshotLost(StorageError):
    """The state store has no snapshot of the site that can be used."""


class Snapshot(Struct, frozen=True, order=True):
    """A snapshot in the state store. They are in order of generation, and then of epoch."""

    generation: int
    epoch: int
    site: str
    sha256: str

    @property
    def key(self) -> str:
        """Its key in the state store."""
        return f"{_folder(self.site)}{self.generation:010d}-{self.epoch:010d}-{self.sha256}{_SUFFIX}"


def parse_key(key: str) -> Snapshot | None:
    """The snapshot of a key; None for another file."""
    folder, _, name = key.rpartition("/")
    numbers = name.removesuffix(_SUFFIX).split("-")
    if not name.endswith(_SUFFIX) or len(numbers) != 3 or not (numbers[0].isdecimal() and numbers[1].isdecimal()):
        return None
    return Snapshot(int(numbers[0]), int(numbers[1]), unquote(folder), numbers[2])


class StateStore(ABC):
    """Files by key. Every method raises StoreFault, after some retries of what may pass.

    A kind of store does the work in a thread, with its methods of the same names.
    """

    name: str
    """What messages call it, without secrets."""
    _put: Callable[..., None]
    _get: Callable[..., bool]
    _keys: Callable[..., list[str]]
    _remove: Callable[..., None]

    @abstractmethod
    async def _do(self, act: str, work: Callable[..., T], *values: object) -> T:
        """Do some work in a thread, and turn its errors into StoreFault. ``act`` is what an error says of it."""

    async def put(self, key: str, file: Path) -> None:
        """Store a file. Nobody ever sees a part of it."""
        await self._do("storing a snapshot", self._put, key, file)

    async def get(self, key: str, file: Path) -> bool:
        """Write what is stored to a local file; False when there is nothing."""
        return await self._do("fetching a snapshot", self._get, key, file)

    async def keys(self, prefix: str) -> list[str]:
        """The keys that begin with a prefix, which is "" or ends with a slash."""
        return await self._do("listing the snapshots", self._keys, prefix)

    async def remove(self, key: str) -> None:
        """Remove a file. Harmless when there is none."""
        await self._do("removing a snapshot", self._remove, key)


class SnapshotStore:
    """The snapshots of the sites of a fleet, the newest ``keep`` of each.

    ``is_optional``: a run also publishes while no snapshot of it can be stored. ``name`` is what messages call it.
    """

    def __init__(self, store: StateStore, keep: int = 3, *, is_optional: bool = False) -> None:
        self.is_optional = is_optional
        self.name = store.name
        self.keep = keep
        self._store = store

    async def save(self, site: str, plan: CrawlPlan, generation: int, epoch: int) -> Snapshot:
        """Take a snapshot of a site's state and store it. It counts once the fleet has recorded it.

        Raises DamagedFile when the state is damaged, StorageError.
        """
        header = SnapshotHeader(site=site, generation=generation, epoch=epoch, start=plan.seed)
        with new_archive(plan) as archive:
            sha256 = await anyio.to_thread.run_sync(pack, plan.state, header, archive)
            snapshot = Snapshot(generation, epoch, site, sha256)
            await self._store.put(snapshot.key, archive)
        return snapshot

    async def read_mark(self) -> str:
        """The mark of the fleet that the store belongs to; "" for none. Raises StorageError."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, MARK)
            return await anyio.to_thread.run_sync(file.read_text) if await self._store.get(MARK, file) else ""

    async def write_mark(self, mark: str, site: str = "") -> None:
        """Mark the store as that of a fleet, or a folder of a site to see that it takes files. Raises StorageError."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, MARK)
            await anyio.to_thread.run_sync(file.write_text, mark)
            await self._store.put(f"{_folder(site) if site else ''}{MARK}", file)

    async def prune(self, newest: Snapshot) -> None:
        """Remove the snapshots that are ``keep`` generations older than the newest recorded one, or more.

        What cannot be removed now is left for the next time, with a line in the log.
        """
        try:
            found = await self.snapshots(newest.site)
        except StorageError as error:
            log.warning("old snapshots of %s are left in %s: %s", newest.site, self._store.name, error)
            return
        for old in (each for each in found if each.generation <= newest.generation - self.keep):
            try:
                await self._store.remove(old.key)
            except StorageError as error:
                log.warning("an old snapshot of %s is left in %s: %s", newest.site, self._store.name, error)

    async def all_newest(self) -> dict[str, Snapshot]:
        """The newest snapshot of each site in the store. Reads the whole listing. Raises StorageError."""
        newest: dict[str, Snapshot] = {}
        for snapshot in filter(None, map(parse_key, await self._store.keys(""))):
            newest[snapshot.site] = max(snapshot, newest.get(snapshot.site, snapshot))
        return newest

    async def snapshots(self, site: str) -> list[Snapshot]:
        """The snapshots of a site, the oldest first. Raises StorageError."""
        return sorted(filter(None, map(parse_key, await self._store.keys(_folder(site)))))

    async def restore(self, site: str, config: Config, keys: Iterable[str]) -> CrawlPlan:
        """Replace the local state of a site by the first snapshot of these keys that can be used; returns its plan.

        Nobody who only writes to the store can add one: the keys come from the database, and have the digests. Raises
        SnapshotLost when none is left, StateInUse while a process uses the local state, StorageError, UsageError.
        """
        problems: list[str] = []
        for key in keys:
            try:
                plan = await self._restore(key, config)
            except BadSnapshot as error:
                problems.append(str(error))
                continue
            for problem in problems:
                log.warning("%s: an older state is used: %s", site, problem)
            return plan
        reasons = "; ".join(problems) or "it has none"
        raise SnapshotLost(
            f"no snapshot of the site {site} in {self._store.name} can be used ({reasons}). Put a snapshot back "
            "from a backup of the state store. Or begin again from the published sitemap: siteatlas fleet run-now "
            f"{shlex.quote(site)} --fresh"
        )

    async def _restore(self, key: str, config: Config) -> CrawlPlan:
        """Restore one snapshot. Raises BadSnapshot when it cannot be used."""
        if (snapshot := parse_key(key)) is None:
            raise BadSnapshot(f"{key} is not the name of a snapshot")
        name = f"generation {snapshot.generation}"
        with new_archive(plan_crawl(config)) as archive:
            for _ in range(_ATTEMPTS):
                archive.unlink(missing_ok=True)
                try:
                    is_there = await self._store.get(key, archive)
                except StoreFault as error:
                    if error.may_retry:
                        raise
                    await self.read_mark()  # or the fault is that of the whole store
                    raise BadSnapshot(f"{name} cannot be read: {error.reason}") from None
                if not is_there:
                    raise BadSnapshot(f"{name} is missing")
                if await anyio.to_thread.run_sync(sha256_of, archive) == snapshot.sha256:
                    break
            else:
                raise BadSnapshot(f"{name} is damaged: its checksum differs")
            try:
                plan = await anyio.to_thread.run_sync(unpack, archive, config, snapshot.site, key)
            except BadSnapshot as error:
                raise BadSnapshot(f"{name} cannot be used: {error}") from None
        await anyio.to_thread.run_sync(put_back_published, plan)
        log.info("%s: the state of %s is here", snapshot.site, name)
        return plan


class DirectoryStore(StateStore):
    """A directory on a disk that all workers share. A file appears whole and durable, by a rename."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.name = f"file://{directory}"

    @override
    async def _do(self, act: str, work: Callable[..., T], *values: object) -> T:
        try:
            return await anyio.to_thread.run_sync(work, *values)
        except OSError as error:
            reason = f"Error at {error.filename or self.name}: {error.strerror or error}"
            if isinstance(error, PermissionError):
                reason += f" for the account {os.geteuid()}. {_ACCOUNTS}"
            raise StoreFault(f"the state store {self.name} cannot be used. {reason}", reason) from error

    def _remove(self, key: str) -> None:
        (self._directory / key).unlink(missing_ok=True)

    def _put(self, key: str, file: Path) -> None:
        path = self._directory / key
        mark = self._directory / MARK
        if key != MARK and not mark.exists():  # the disk went away during the run
            raise FileNotFoundError(errno.ENOENT, "the mark of the fleet is not there", str(mark))
        make_directory(self._directory, 0o700)
        make_directory(path.parent, 0o700)
        if path.parent != self._directory:
            self._share(path.parent, 0o770)
        with file.open("rb") as content, replacement(path, 0o600) as stored:
            self._share(stored.fileno(), 0o660)
            shutil.copyfileobj(content, stored)

    def _share(self, path: Path | int, mode: int) -> None:
        """Give what this account owns to the group of the store, if that group may write to it."""
        root = self._directory.stat()
        if root.st_mode & stat.S_IWGRP and os.stat(path).st_uid == os.geteuid():  # noqa: PTH116 - also a descriptor
            os.chown(path, -1, root.st_gid)
            os.chmod(path, mode)  # noqa: PTH101

    def _get(self, key: str, file: Path) -> bool:
        try:
            with open_plain(self._directory / key) as content, create_file(file, 0o600) as copy:
                shutil.copyfileobj(content, copy)
        except FileNotFoundError:
            return False
        return True

    def _keys(self, prefix: str) -> list[str]:
        folder = self._directory / prefix
        return [path.relative_to(self._directory).as_posix() for path in folder.glob("*" if prefix else "*/*")]


def _folder(site: str) -> str:
    """The folder of a site's snapshots, also for the names . and .."""
    return quote(site, safe="").replace(".", "%2E") + "/"
