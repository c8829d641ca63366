"""The state of one crawl on disk: which directory, whose crawl, finished or not. Opens the frontier in it."""

import hashlib
import os
import re
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from crawler.errors import StorageError, UsageError
from crawler.frontier import Admit, schema
from crawler.frontier.sqlite import SqliteFrontier
from crawler.model import Url


def directory_for(root: Path, sitemap_url: Url) -> Path:
    """The directory of a site's state: readable for people, and distinct for distinct sitemaps."""
    digest = hashlib.blake2b(sitemap_url.encode(), digest_size=4).hexdigest()
    readable = re.sub(r"[^a-z0-9.-]+", "-", sitemap_url.partition("://")[2].rpartition("/")[0].lower()).strip(
        ".-"
    )
    return root / f"{readable[:60] or 'site'}-{digest}"


class Store:
    """The state of one crawl, locked for this process while entered.

    ``settings`` are those that decide the result of a crawl; an unfinished crawl is resumed only with the same.
    Raises StateInUse, StorageError, UsageError on entering.
    """

    def __init__(self, directory: Path, settings: Mapping[str, object], *, fresh: bool = False) -> None:
        self.directory = directory
        self.resumed = False
        self._settings = settings
        self._fresh = fresh
        self._lock = -1
        self._db: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        self._lock = schema.lock(self.directory)
        try:
            self._open()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._db is not None:
            try:
                self._db.close()
            except sqlite3.Error as trouble:
                raise StorageError(f"the state in {self.directory} cannot be closed: {trouble}") from None
            finally:
                self._db = None
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def frontier(self, admission: Admit, *, by_level: bool) -> SqliteFrontier:
        """The frontier of this crawl."""
        return SqliteFrontier(self._connection, admission, by_level=by_level)

    def finish(self) -> None:
        """The crawl is complete and published: the next run begins anew."""
        self._remember("finished", "yes")

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            raise StorageError("the state is not open")
        return self._db

    def _open(self) -> None:
        path = self.directory / "state.db"
        self._db = schema.connect(path)
        about = self._about()
        if self._is_begun(about) and not self._fresh:
            self._must_match(msgspec.json.decode(about["settings"]))
            self.resumed = True
            return
        if about:  # done, hardly begun, or to be forgotten
            self._db.close()
            self._db = None
            for name in ("state.db", "state.db-wal", "state.db-shm"):
                (self.directory / name).unlink(missing_ok=True)
            self._db = schema.connect(path)
        self._remember("settings", msgspec.json.encode(self._settings, order="deterministic").decode())

    def _is_begun(self, about: Mapping[str, str]) -> bool:
        """Whether there is an unfinished crawl worth going on with: one that knows at least a URL."""
        if "settings" not in about or about.get("finished") == "yes":
            return False
        return self._connection.execute("SELECT 1 FROM url LIMIT 1").fetchone() is not None

    def _must_match(self, before: dict[str, object]) -> None:
        now = msgspec.json.decode(msgspec.json.encode(self._settings))
        changed = sorted(key for key in {*before, *now} if before.get(key) != now.get(key))
        if changed:
            raise UsageError(
                f"an unfinished crawl of this site was begun with other settings ({', '.join(changed)}); "
                f"repeat them to go on with it, or begin anew with --fresh"
            )

    def _about(self) -> dict[str, str]:
        try:
            return dict(self._connection.execute("SELECT key, value FROM about"))
        except sqlite3.Error as error:
            raise StorageError(f"the state in {self.directory} cannot be read: {error}") from None

    def _remember(self, key: str, value: str) -> None:
        try:
            self._connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, value))
        except sqlite3.Error as error:
            raise StorageError(
                f"the state in {self.directory} cannot be written: {error}; free space, run again"
            ) from None
