"""Serves the published files in a web program, as ASGI or WSGI, and tells the program the lastmod of its pages.

https://asgi.readthedocs.io/en/latest/specs/www.html and https://peps.python.org/pep-3333/
"""

import logging
import os
import sqlite3
import stat
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, MutableMapping
from datetime import datetime
from email.utils import formatdate
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Final, Generic, NamedTuple, TypeVar
from wsgiref.util import FileWrapper

from anyio import to_thread

from crawler.errors import SiteatlasError
from crawler.fetch.header_values import content_type, parse_http_date
from crawler.model import Url
from crawler.state.schema import STATE_DB
from crawler.url.normalize import InvalidUrl, normalize_url
from sitemap import parse_date

_log = logging.getLogger(__name__)
_CHUNK: Final = 256 * 1024
_ALLOWED: Final = ("GET", "HEAD")
_LASTMOD: Final = """SELECT coalesce(nullif(p.lastmod, ''), m.lastmod) FROM url u
  LEFT JOIN published p ON p.id = u.id LEFT JOIN memory m ON m.id = u.id WHERE u.url = ?"""

Scope = MutableMapping[str, Any]
AsgiApp = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]
WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
App = TypeVar("App")


class ObservedDates:
    """The lastmods of pages, as their sitemaps have them, from the states of the last runs.

    ``state`` is the state directory of the runs, or the directory of one site in it. States may appear, change and go
    while the program runs. Any thread may use this.
    """

    def __init__(self, state: str | os.PathLike[str] = ".siteatlas") -> None:
        self._opened: dict[Path, tuple[object, sqlite3.Connection]] = {}
        self._root = Path(state)
        self._lock = Lock()
        self._faults: set[str] = set()

    def lastmod(self, url: str) -> datetime | None:
        """The lastmod of a page, an aware datetime (midnight in UTC for a day), or None if it is not known.

        The latest one, if several sites of the directory have the page. A state that cannot be read knows none, and a
        warning is logged.
        """
        try:
            address = normalize_url(url)
        except InvalidUrl:
            return None
        with self._lock:
            known = [parse_date(text) for text in self._texts(address)]
        return max((moment.instant() for moment in known if moment), default=None)

    def _texts(self, url: Url) -> Iterator[str]:
        own = self._root / STATE_DB.file
        files = [own] if os.path.exists(own) else sorted(self._root.glob(f"*/{STATE_DB.file}"))  # noqa: PTH110 - False too in a closed directory
        if not files:
            told = f"{self._root} has no state that this account can read. Run siteatlas first, with the same account"
            self._warn(told)
        for file in self._opened.keys() - {*files}:
            self._close(file)
        for file in files:
            try:
                row = self._connection(file).execute(_LASTMOD, (url,)).fetchone()
            except (SiteatlasError, OSError, sqlite3.Error) as error:
                self._warn(str(error))
            else:
                yield (row and row[0]) or ""

    def _warn(self, fault: str) -> None:
        """Log a fault once."""
        if fault not in self._faults:
            self._faults.add(fault)
            _log.warning("no lastmod is known: %s", fault)

    def _connection(self, file: Path) -> sqlite3.Connection:
        """A connection to the file that is there now: a run may have replaced it, or this process is a fork."""
        facts = file.stat()
        key = (os.getpid(), facts.st_dev, facts.st_ino)
        if file not in self._opened or self._opened[file][0] != key:
            self._close(file)
            self._opened[file] = (key, STATE_DB.open_read_only(file))
        return self._opened[file][1]

    def _close(self, file: Path) -> None:
        if opened := self._opened.pop(file, None):
            opened[1].close()

    def __del__(self) -> None:
        for file in [*self._opened]:
            self._close(file)


def condition_status(header: Callable[[str], str], tags: Collection[str], modified: int) -> int:
    """The status that the conditions of a request lead to: 200, 304 or 412. RFC 9110, section 13.2.2.

    ``header`` gives the value of a header by its name in lower case, "" without it. ``tags`` are the ETags of the file
    in its encodings, ``modified`` is its Unix time. What is not a date is ignored, as section 13.1.3 demands.
    """
    if wanted := header("if-match"):
        if not _names(wanted, tags):
            return 412
    elif (date := parse_http_date(header("if-unmodified-since"), time.time())) is not None and modified > date:
        return 412
    if known := header("if-none-match"):
        return 304 if _names(known, tags) else 200
    date = parse_http_date(header("if-modified-since"), time.time())
    return 304 if date is not None and modified <= date else 200


def _names(header: str, tags: Collection[str]) -> bool:
    return header.strip() == "*" or any(tag.strip().removeprefix("W/") in tags for tag in header.split(","))


class _Answer(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    file: BinaryIO | None = None


_EMPTY: Final = [("content-type", "text/plain"), ("content-length", "0")]
_NOT_FOUND: Final = _Answer(404, _EMPTY)


class _Files(Generic[App]):
    """The files in the published ``directory``, and no other; ``app`` answers every other request, by default 404.

    ``path`` is the directory of the sitemap on the site, within the place where the program mounts this.
    """

    def __init__(self, directory: str | os.PathLike[str], app: App | None = None, *, path: str = "/") -> None:
        self._directory = Path(directory)
        self._app = app
        self._path = path.rstrip("/") + "/"

    def _answer(self, method: str, path: str, header: Callable[[str], str]) -> _Answer | None:
        """None if the path is not that of a file. The file is open, and a publish does not change it."""
        name = path.removeprefix(self._path)
        if name == path or not name or "/" in name or name.startswith("."):
            return None
        try:
            descriptor = os.open(self._directory / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except PermissionError:
            raise  # the operator must know
        except (OSError, ValueError):  # a name that no file has
            return None
        facts = os.fstat(descriptor)
        answer = _answer_of(method, name, facts, header) if stat.S_ISREG(facts.st_mode) else None
        if answer is None or answer.status != 200 or method == "HEAD":
            os.close(descriptor)
            return answer
        return answer._replace(file=os.fdopen(descriptor, "rb"))


def _answer_of(method: str, name: str, facts: os.stat_result, header: Callable[[str], str]) -> _Answer:
    if method not in _ALLOWED:
        return _Answer(405, [("allow", ", ".join(_ALLOWED)), *_EMPTY])
    tag = f'"{facts.st_mtime_ns:x}-{facts.st_size:x}"'
    status = condition_status(header, [tag], int(facts.st_mtime))
    if status == 412:
        return _Answer(status, _EMPTY)
    headers = [("etag", tag), ("last-modified", formatdate(facts.st_mtime, usegmt=True)), ("cache-control", "no-cache")]
    if status == 200:
        headers += [("content-type", content_type(name)), ("content-length", str(facts.st_size))]
    return _Answer(status, headers)


class AsgiFiles(_Files[AsgiApp]):
    """The published files as an ASGI application. ``app`` is an ASGI application too."""

    async def __call__(
        self, scope: Scope, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        """Answer a request, or hand it on."""
        answer = None
        if scope["type"] == "http":
            sent: dict[str, str] = {}
            for raw, value in scope["headers"]:
                key = raw.decode("latin-1")
                sent[key] = ",".join(filter(None, (sent.get(key), value.decode("latin-1"))))
            path = scope["path"].removeprefix(scope.get("root_path", ""))
            answer = await to_thread.run_sync(self._answer, scope["method"], path, lambda name: sent.get(name, ""))
        if answer is None and self._app:
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise NotImplementedError(f"published files are served by http, not by {scope['type']}")
        status, headers, file = answer or _NOT_FOUND
        listed = [(name.encode(), value.encode()) for name, value in headers]
        await send({"type": "http.response.start", "status": status, "headers": listed})
        if file:
            with file:
                while chunk := await to_thread.run_sync(file.read, _CHUNK):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


class WsgiFiles(_Files[WsgiApp]):
    """The published files as a WSGI application. ``app`` is a WSGI application too."""

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request, or hand it on."""
        path = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8", "replace")

        def header(name: str) -> str:
            return str(environ.get(f"HTTP_{name.upper().replace('-', '_')}", ""))

        answer = self._answer(environ["REQUEST_METHOD"], path, header)
        if answer is None and self._app:
            return self._app(environ, start_response)
        status, headers, file = answer or _NOT_FOUND
        start_response(f"{status} {HTTPStatus(status).phrase}", headers)
        return environ.get("wsgi.file_wrapper", FileWrapper)(file, _CHUNK) if file else []
