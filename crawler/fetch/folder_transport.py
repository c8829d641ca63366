"""A transport that serves a folder of built pages as a plain static server does.

========================  ==========================================================================================
``/a/``                   ``a/index.html``
``/a``                    the file ``a``; where there is ``a/index.html``, a redirect to ``/a/``; else ``a.html``
a name with a dot first   404, as every name that a path of this system cannot have
a link out of the folder  403
no regular file           404: a FIFO or a device is never opened
========================  ==========================================================================================
"""

import errno
import os
import stat
import time
from collections.abc import Mapping
from email.utils import formatdate
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

import anyio.to_thread

from crawler.fetch.errors import FailureCode, FetchError
from crawler.fetch.header_values import parse_http_date
from crawler.fetch.identity import Header

PIECE_BYTES: Final = 256 * 1024
"""Bytes read at once. Most pages are smaller, and take one step in another thread."""

_TYPES: Final = {
    "html": "text/html", "htm": "text/html", "xhtml": "application/xhtml+xml", "xht": "application/xhtml+xml",
    "xml": "text/xml", "rss": "application/rss+xml", "atom": "application/atom+xml", "txt": "text/plain",
    "md": "text/markdown", "css": "text/css", "js": "text/javascript", "json": "application/json",
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
    "avif": "image/avif", "svg": "image/svg+xml", "ico": "image/x-icon", "pdf": "application/pdf",
    "mp4": "video/mp4", "webm": "video/webm", "mp3": "audio/mpeg", "woff2": "font/woff2",
}  # fmt: skip
_SLASH: Final = Path("/")
_DEFAULT_TYPE: Final = "application/octet-stream"
_NO_FILE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP})


class _FileResponse(NamedTuple):
    """A status, its fields, the first bytes of the body, the file descriptor of the rest (-1: none) and its size."""

    status: int
    fields: list[Header]
    body: bytes = b""
    more: int = -1
    left: int = 0


class FolderTransport:
    """Answers GET requests for a public directory from ``folder``; ``public`` is its URL, with a slash at the end.

    Header fields, redirects, ETag and conditional requests are as in nginx. Implements
    :class:`crawler.fetch.transports.Transport`.
    """

    def __init__(self, folder: Path, public: str) -> None:
        self._root = folder.resolve()
        start = public.index("/", 8)
        self._origin = public[:start]
        self._prefix = public[start:].encode("ascii")

    async def send(
        self,
        method: str,  # noqa: ARG002
        target: str,
        fields: tuple[Header, ...],
        content: bytes,  # noqa: ARG002
    ) -> "tuple[int, list[Header], _FileBody]":
        """Answer one request. Raises nothing."""
        sent = {name.lower(): value for name, value in fields}
        answer = await anyio.to_thread.run_sync(self._respond, target.encode("ascii"), sent)
        return answer.status, [("date", formatdate(usegmt=True)), *answer.fields], _FileBody(answer)

    async def aclose(self) -> None:
        """Nothing is open."""

    def status_of(self, path: str) -> tuple[int, str]:
        """The status of an encoded path, and where it redirects; without reading the file. Raises OSError."""
        file = self.file_of(path.encode("ascii"))
        if file is _SLASH:
            return 301, f"{self._origin}{path}/"
        return (404, "") if file is None else (200, "")

    def _respond(self, target: bytes, request_headers: Mapping[str, str]) -> _FileResponse:
        path, mark, query = target.partition(b"?")
        try:
            file = self.file_of(path)
            if file is None:
                return _status_response(404)
            if file is _SLASH:
                target_path = (path + b"/" + mark + query).decode("ascii")
                # An absolute URL, because a path that starts with two slashes would name another host.
                return _FileResponse(301, [("location", self._origin + target_path), ("content-length", "0")])
            return self._respond_with(file, request_headers)
        except PermissionError:
            return _status_response(403)
        except OSError:  # a disk error or too many open files: may pass
            return _status_response(500)

    def file_of(self, path: bytes) -> Path | None:
        """The file of an encoded path, None without one, / if the path needs a slash at its end. Raises OSError."""
        if not path.startswith(self._prefix):
            return None
        names = [os.fsdecode(unquote_to_bytes(name)) for name in path[len(self._prefix) :].split(b"/")]
        if any(name[:1] == "." or "/" in name or "\0" in name for name in names):
            return None
        place = self._root.joinpath(*names)
        if not names[-1]:
            return _regular_file(place / "index.html")
        if _regular_file(place):
            return place
        if _regular_file(place / "index.html"):
            return _SLASH
        return _regular_file(place.with_name(f"{names[-1]}.html"))

    def _respond_with(self, file: Path, request_headers: Mapping[str, str]) -> _FileResponse:
        real = file.resolve()
        if not real.is_relative_to(self._root):
            return _status_response(403)
        opened = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        answer = _status_response(404)
        try:
            answer = _read_file(opened, file, request_headers)
        finally:
            if answer.more < 0:
                os.close(opened)
        return answer


def _read_file(opened: int, file: Path, request_headers: Mapping[str, str]) -> _FileResponse:
    status = os.fstat(opened)
    if not stat.S_ISREG(status.st_mode):
        return _status_response(404)
    etag, modified = _etag(status), _last_modified(status)
    fields = [("etag", etag), *modified]
    if _is_unchanged(request_headers, etag, status.st_mtime):
        return _FileResponse(304, fields)
    fields += [*_type_fields(file), ("content-length", str(status.st_size))]
    first = os.read(opened, min(PIECE_BYTES, status.st_size))
    left = status.st_size - len(first)
    return _FileResponse(200, fields, first, opened if left else -1, left)


def _status_response(status: int) -> _FileResponse:
    return _FileResponse(status, [("content-length", "0")])


def _regular_file(place: Path) -> Path | None:
    """The path if it is a regular file, else None."""
    try:
        return place if stat.S_ISREG(place.stat().st_mode) else None
    except PermissionError:
        raise
    except OSError as error:
        if error.errno in _NO_FILE:
            return None
        raise


def _etag(status: os.stat_result) -> str:
    """nginx's ETag and the ctime, because builds may give files the same time and size."""
    return f'"{int(status.st_mtime):x}-{status.st_size:x}-{status.st_ctime_ns:x}"'


def _last_modified(status: os.stat_result) -> list[tuple[str, str]]:
    try:
        return [("last-modified", formatdate(int(status.st_mtime), usegmt=True))]
    except (ValueError, OverflowError, OSError):  # out of range
        return []


def _is_unchanged(request_headers: Mapping[str, str], etag: str, modified: float) -> bool:
    """Whether a conditional request gets a 304 (https://www.rfc-editor.org/rfc/rfc9110#section-13.2.2)."""
    known = request_headers.get("if-none-match")
    if known is not None:
        return any(tag.strip().removeprefix("W/") in (etag, "*") for tag in known.split(","))
    since = parse_http_date(request_headers.get("if-modified-since", ""), time.time())
    return since is not None and int(modified) <= since


def file_type(file: Path) -> str:
    """The Content-Type by the last suffix; "" without a suffix, so that the parser sniffs the bytes."""
    suffix = file.suffix.lower().removeprefix(".")
    return _TYPES.get(suffix, _DEFAULT_TYPE) if suffix else ""


def _type_fields(file: Path) -> list[Header]:
    return [("content-type", kind)] if (kind := file_type(file)) else []


class _FileBody:
    """The body of a response in pieces. Raises FetchError for a file that is truncated meanwhile."""

    def __init__(self, answer: _FileResponse) -> None:
        self._next = answer.body
        self._file = answer.more
        self._left = answer.left

    def __aiter__(self) -> "_FileBody":
        return self

    async def __anext__(self) -> bytes:
        piece, self._next = self._next, b""
        if not piece and self._left:
            piece = await anyio.to_thread.run_sync(os.read, self._file, min(PIECE_BYTES, self._left))
            if not piece:
                raise FetchError(FailureCode.BODY_INCOMPLETE)
            self._left -= len(piece)
        if not piece:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
