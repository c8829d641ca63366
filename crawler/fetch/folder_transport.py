"""A folder of built pages as an httpx transport: it answers what a plain static server would. Reads files, no more.

========================  ==========================================================================================
``/a/``                   ``a/index.html``
``/a``                    the file ``a``; where there is ``a/index.html``, a redirect to ``/a/``; else ``a.html``
a name with a dot first   404, and so is every name that a path of this system cannot have
a link out of the folder  403
no regular file           404: a FIFO or a device is never opened
========================  ==========================================================================================
"""

import errno
import os
import stat
import time
from email.utils import formatdate
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

import anyio.to_thread
import httpx
from typing_extensions import override

from crawler.fetch import http_date

PIECE_BYTES: Final = 256 * 1024
"""Bytes read at once. Most pages are smaller, and cost one step in another thread."""

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
    """A status with its fields, the first bytes of the body, and what the others are read from: -1 for none."""

    status: int
    fields: list[tuple[str, str]]
    body: bytes = b""
    more: int = -1
    left: int = 0


class FolderTransport(httpx.AsyncBaseTransport):
    """Answers GET requests for a public directory from ``folder``; ``public`` is its URL, with a slash at the end.

    The fields and the redirects are those of nginx, ETag included, and so are the conditions of a request.
    """

    def __init__(self, folder: Path, public: str) -> None:
        self._root = folder.resolve()
        start = public.index("/", 8)
        self._origin = public[:start]
        self._prefix = public[start:].encode("ascii")

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request. Raises nothing."""
        target: bytes = request.extensions.get("target") or request.url.raw_path
        answer = await anyio.to_thread.run_sync(self._respond, target, request.headers)
        fields = [("Date", formatdate(usegmt=True)), *answer.fields]
        return httpx.Response(answer.status, headers=fields, stream=_FileBody(answer), request=request)

    def _respond(self, target: bytes, asked: httpx.Headers) -> _FileResponse:
        path, mark, query = target.partition(b"?")
        try:
            file = self._file(path)
            if file is None:
                return _status_response(404)
            if file is _SLASH:
                where = (path + b"/" + mark + query).decode("ascii")
                # Whole, because of a path that begins with two slashes, which would name another host.
                return _FileResponse(301, [("Location", self._origin + where), ("Content-Length", "0")])
            return self._respond_with(file, asked)
        except PermissionError:
            return _status_response(403)
        except OSError:  # a disk, or too many open files: it may be better later
            return _status_response(500)

    def _file(self, path: bytes) -> Path | None:
        """The file that a path means, None if there is none, _SLASH if the path needs a slash at its end."""
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

    def _respond_with(self, file: Path, asked: httpx.Headers) -> _FileResponse:
        real = file.resolve()
        if not real.is_relative_to(self._root):
            return _status_response(403)
        opened = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        answer = _status_response(404)
        try:
            answer = _read_file(opened, file, asked)
        finally:
            if answer.more < 0:
                os.close(opened)
        return answer


def _read_file(opened: int, file: Path, asked: httpx.Headers) -> _FileResponse:
    found = os.fstat(opened)
    if not stat.S_ISREG(found.st_mode):
        return _status_response(404)
    etag, modified = _etag(found), _last_modified(found)
    fields = [("ETag", etag), *modified]
    if _is_unchanged(asked, etag, found.st_mtime):
        return _FileResponse(304, fields)
    fields += [*_type(file), ("Content-Length", str(found.st_size))]
    first = os.read(opened, min(PIECE_BYTES, found.st_size))
    left = found.st_size - len(first)
    return _FileResponse(200, fields, first, opened if left else -1, left)


def _status_response(status: int) -> _FileResponse:
    return _FileResponse(status, [("Content-Length", "0")])


def _regular_file(place: Path) -> Path | None:
    """The place, if a regular file is there."""
    try:
        return place if stat.S_ISREG(place.stat().st_mode) else None
    except PermissionError:
        raise
    except OSError as error:
        if error.errno in _NO_FILE:
            return None
        raise


def _etag(found: os.stat_result) -> str:
    """As nginx has it, and the time of the last change of any kind: builds may give all files one time and one size."""
    return f'"{int(found.st_mtime):x}-{found.st_size:x}-{found.st_ctime_ns:x}"'


def _last_modified(found: os.stat_result) -> list[tuple[str, str]]:
    try:
        return [("Last-Modified", formatdate(int(found.st_mtime), usegmt=True))]
    except (ValueError, OverflowError, OSError):  # a time that no calendar has
        return []


def _is_unchanged(asked: httpx.Headers, etag: str, modified: float) -> bool:
    """Whether the conditions of a request ask for no body (https://www.rfc-editor.org/rfc/rfc9110#section-13.2.2)."""
    known = asked.get("if-none-match")
    if known is not None:
        return any(one.strip().removeprefix("W/") in (etag, "*") for one in known.split(","))
    since = http_date.parse_http_date(asked.get("if-modified-since", ""), time.time())
    return since is not None and int(modified) <= since


def _type(file: Path) -> list[tuple[str, str]]:
    """The Content-Type by the last suffix; none for a name without one, whose bytes must tell."""
    suffix = file.suffix.lower().removeprefix(".")
    return [("Content-Type", _TYPES.get(suffix, _DEFAULT_TYPE))] if suffix else []


class _FileBody(httpx.AsyncByteStream):
    """The body of an answer, piece by piece. Raises httpx.RemoteProtocolError for a file that was cut meanwhile."""

    def __init__(self, answer: _FileResponse) -> None:
        self._next = answer.body
        self._file = answer.more
        self._left = answer.left

    @override
    def __aiter__(self) -> "_FileBody":
        return self

    async def __anext__(self) -> bytes:
        piece, self._next = self._next, b""
        if not piece and self._left:
            piece = await anyio.to_thread.run_sync(os.read, self._file, min(PIECE_BYTES, self._left))
            if not piece:
                raise httpx.RemoteProtocolError("end of file before message length reached")
            self._left -= len(piece)
        if not piece:
            raise StopAsyncIteration
        return piece

    @override
    async def aclose(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
