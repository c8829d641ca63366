"""Which files are served, and what they are: those of a published set and of an audit, and no other in the directory.

A file is asked for by its name, which is looked up among those that may be; no path is made of what a client sends.
"""

import os
import re
import stat
from collections.abc import AsyncIterator, Mapping
from email.utils import formatdate, parsedate_to_datetime
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

import anyio.to_thread
from msgspec import Struct
from starlette.datastructures import Headers
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from crawler.audit.rules import TOLD
from crawler.fetch.media_type import content_type
from crawler.schedule.status import SiteBoard
from crawler.schedule.web.snapshots import Look
from sitemap import Child, SitemapError, SitemapReader

PIECE: Final = 128 * 2**10  # bytes

_SMALL: Final = 1_400  # bytes: what fits in one packet gains nothing by being packed

_LEVEL: Final = 2

_GZIP: Final = 31  # zlib's name for the gzip format

_range = re.compile(r"bytes=[ \t]*(\d{0,18})-(\d{0,18})[ \t]*", re.ASCII).fullmatch

_weight = re.compile(
    r"[ \t]*q[ \t]*=[ \t]*(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)[ \t]*", re.ASCII | re.IGNORECASE
).fullmatch


class Packing(Protocol):
    """What packs bytes."""

    def compress(self, data: bytes, /) -> bytes:
        """Take some, give what is ready."""

    def flush(self) -> bytes:
        """Give the rest."""


class Part(Struct, frozen=True):
    """The bytes from ``first`` on, ``length`` of them."""

    first: int
    length: int


class Sending:
    """An open file on its way to a client. It is closed in the end, whatever happens.

    ``is_text`` lets it be packed on the way. ``headers`` are sent too.
    """

    def __init__(
        self, descriptor: int, media_type: str, headers: Mapping[str, str], *, is_text: bool
    ) -> None:
        self._descriptor = descriptor
        facts = os.fstat(descriptor)
        self._size = facts.st_size
        self._moment = int(facts.st_mtime)
        self._tag = f"{facts.st_mtime_ns:x}-{facts.st_size:x}"
        self._is_text = is_text
        self._headers = {
            **headers,
            "content-type": media_type,
            "last-modified": formatdate(self._moment, usegmt=True),
            "accept-ranges": "bytes",
            **({"vary": "Accept-Encoding"} if is_text else {}),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As https://asgi.readthedocs.io/en/latest/specs/www.html has it."""
        try:
            await self._answer(Headers(scope=scope), scope["method"] == "HEAD")(scope, receive, send)
        finally:
            os.close(self._descriptor)

    def _answer(self, asked: Headers, is_head: bool) -> Response:
        part = self._part(asked)
        packed = part is None and self._is_text and self._size > _SMALL and _takes_gzip(asked)
        # https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3.3: what is packed is another representation
        headers = {**self._headers, "etag": f'"{self._tag}-gzip"' if packed else f'"{self._tag}"'}
        if status := self._condition(asked):
            kept = ("etag", "last-modified", "vary", "cache-control")
            return Response(status_code=status, headers={key: headers[key] for key in kept if key in headers})
        if part is not None and not part.length:
            return Response(status_code=416, headers={"content-range": f"bytes */{self._size}"})
        if packed:
            headers["content-encoding"] = "gzip"
            return _response(200, headers, self._packed(), is_head)
        status = 200
        if part is not None:
            status = 206
            headers["content-range"] = f"bytes {part.first}-{part.first + part.length - 1}/{self._size}"
        part = part or Part(0, self._size)
        headers["content-length"] = str(part.length)
        return _response(status, headers, self._plain(part), is_head)

    def _condition(self, asked: Headers) -> int:
        """The status that the conditions of a request lead to, in their order; 0: send it."""
        if matching := _several(asked, "if-match"):
            if not self._is_one_of(matching):
                return 412
        elif (date := _date(asked, "if-unmodified-since")) is not None and self._moment > date:
            return 412
        if tags := _several(asked, "if-none-match"):
            return 304 if self._is_one_of(tags) else 0
        date = _date(asked, "if-modified-since")
        return 304 if date is not None and self._moment <= date else 0

    def _is_one_of(self, tags: str) -> bool:
        own = {f'"{self._tag}"', f'"{self._tag}-gzip"'}
        return tags.strip() == "*" or any(tag.strip().removeprefix("W/") in own for tag in tags.split(","))

    def _part(self, asked: Headers) -> Part | None:
        """The part that is asked for, of length 0 when there is no such; None: all of it."""
        ranges = asked.getlist("range")
        found = _range(ranges[0]) if len(ranges) == 1 else None
        known = asked.get("if-range", "").strip()
        if found is None or (known and known not in (f'"{self._tag}"', self._headers["last-modified"])):
            return None
        first, last = found.groups()
        if not first:
            length = min(int(last or 0), self._size)
            return Part(self._size - length, length) if last else None
        if last and int(last) < int(first):
            return (
                None  # https://www.rfc-editor.org/rfc/rfc9110#section-14.1.1: invalid, so that it is ignored
            )
        end = min(int(last) + 1, self._size) if last else self._size
        return Part(int(first), max(0, end - int(first)))

    async def _plain(self, part: Part) -> AsyncIterator[bytes]:
        place, left = part.first, part.length
        while left:
            piece = await anyio.to_thread.run_sync(os.pread, self._descriptor, min(left, PIECE), place)
            if not piece:
                raise OSError("the file has become shorter while it was sent")
            place, left = place + len(piece), left - len(piece)
            yield piece

    async def _packed(self) -> AsyncIterator[bytes]:
        from isal import isal_zlib  # noqa: PLC0415 - only who packs pays for it

        packer = isal_zlib.compressobj(_LEVEL, wbits=_GZIP)
        for place in range(0, self._size, PIECE):
            length = min(PIECE, self._size - place)
            if piece := await anyio.to_thread.run_sync(self._pack, packer, place, length):
                yield piece
        yield packer.flush()

    def _pack(self, packer: Packing, place: int, length: int) -> bytes:
        piece = os.pread(self._descriptor, length, place)
        if len(piece) < length:
            raise OSError("the file has become shorter while it was sent")
        return packer.compress(piece)


def _response(status: int, headers: dict[str, str], body: AsyncIterator[bytes], is_head: bool) -> Response:
    if is_head:
        answer = Response(status_code=status, headers={"content-length": "0", **headers})
        if "content-length" not in headers:
            del answer.headers["content-length"]
        return answer
    return StreamingResponse(body, status, headers)


def _takes_gzip(asked: Headers) -> bool:
    """Whether gzip is acceptable: https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3."""
    found = {}
    for each in ",".join(asked.getlist("accept-encoding")).split(","):
        coding, _, weight = each.strip().partition(";")
        found[coding.strip().lower()] = not weight or (_weight(weight) is not None and _worth(weight) > 0)
    return found.get("gzip", found.get("x-gzip", found.get("*", False)))


def _worth(weight: str) -> float:
    return float(weight.partition("=")[2])


def _several(asked: Headers, name: str) -> str:
    return ",".join(asked.getlist(name))


def _date(asked: Headers, name: str) -> float | None:
    """A date of the request; what is none is ignored: https://www.rfc-editor.org/rfc/rfc9110#section-13.1.3."""
    try:
        return parsedate_to_datetime(asked[name]).timestamp()
    except (KeyError, ValueError, OverflowError):
        return None


# The policy of an audit's page is in the page; this one keeps in what is not that page.
REPORT_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)

_PUBLISHED_POLICY: Final = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)

_STYLESHEETS: Final = frozenset({"sitemap.css", "sitemap.xsl"})

_REPORTS: Final = {
    "audit.html": "text/html; charset=utf-8",
    "audit.json": "application/json",
    "audit.sarif": "application/sarif+json",
    "audit.junit.xml": "application/xml",
}

_TABLE: Final = "text/csv; charset=utf-8"

_PORTS: Final = {"http": ":80", "https": ":443"}


class Index(Struct, frozen=True):
    """The names that a published index lists, and which file it was when it was read."""

    stamp: tuple[int, int, int]
    names: frozenset[str]


class Shelves:
    """The published files of all sites. The methods block."""

    def __init__(self) -> None:
        self._indexes: dict[Path, Index] = {}

    def published(self, site: SiteBoard, look: Look, name: str) -> Sending | None:
        """A file of the published set, or None. Raises OSError when it is there and cannot be read.

        Those that the state tells of, the stylesheets and the feed beside them, and what the index as it is now lists:
        a publish is out there before the state tells, and calls some files otherwise for a moment.
        """
        if not look.files or "/" in name or name.startswith("."):
            return None
        known = name in look.names or name in _STYLESHEETS or name == site.recent
        if not known and name not in self._listed(site):
            return None
        headers = {"cache-control": "no-cache", "content-security-policy": _PUBLISHED_POLICY}
        return _opened(site.output / name, content_type(name), headers, is_text=not name.endswith(".gz"))

    def _listed(self, site: SiteBoard) -> frozenset[str]:
        """The files that the leading one names, if it is an index."""
        directory, name = parted(site.sitemap_url)
        path = site.output / name
        try:
            found = path.lstat()
            stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
            kept = self._indexes.get(path)
            if kept is None or kept.stamp != stamp:
                kept = self._indexes[path] = Index(stamp, _children(path, directory))
        except OSError:
            return frozenset()
        return kept.names


def _children(path: Path, directory: str) -> frozenset[str]:
    names = set()
    try:
        with path.open("rb") as file:
            for item in SitemapReader(file, file=path.name):
                if not isinstance(item, Child):
                    break
                where, name = parted(item.loc)
                if where == directory:
                    names.add(name)
    except SitemapError:
        return frozenset()
    return frozenset(names)


def parted(url: str) -> tuple[str, str]:
    """A URL's directory, and the name of the file in it as it is on the disk."""
    directory, _, name = url.partition("?")[0].rpartition("/")
    return directory, unquote(name)


def address(authority: str, path: str) -> tuple[str, str]:
    """Host, without a usual port, and path, for comparing."""
    host = authority.lower()
    for port in _PORTS.values():
        host = host.removesuffix(port)
    return host, path


def by_address(sites: Mapping[str, SiteBoard], authority: str, path: str) -> tuple[SiteBoard, str] | None:
    """The site whose sitemap is in this directory of this host, and the name of the file; None: there is none."""
    asked, (folder, _, name) = address(authority, path)[0], path.rpartition("/")
    for site in sites.values():
        parts = urlsplit(site.sitemap_url)
        if address(parts.netloc, "")[0] == asked and unquote(parts.path).rpartition("/")[0] == folder:
            return (site, name) if name else None
    return None


def report(directory: Path, name: str) -> Sending | None:
    """A file that an audit wrote, or None. Raises OSError when it is there and cannot be read. Blocks."""
    if name in _REPORTS:
        headers = {"content-security-policy": REPORT_POLICY} if name == "audit.html" else {}
        return _opened(directory / name, _REPORTS[name], headers, is_text=True)
    folder, _, rule = name.removesuffix(".csv").partition("/")
    if folder == "csv" and rule in TOLD and name.endswith(".csv"):
        file = f"{rule}.csv"
        headers = {"content-disposition": f'attachment; filename="{file}"'}
        return _opened(directory / folder / file, _TABLE, headers, is_text=True)
    return None


def reports(directory: Path) -> list[tuple[str, int, float]]:
    """The files of an audit that are there: name, bytes and Unix time, the tables last. Blocks."""
    names = [*_REPORTS, *(f"csv/{rule}.csv" for rule in TOLD)]
    return [
        (name, found.st_size, found.st_mtime)
        for name in names
        if (found := _plain(directory / name)) is not None
    ]


def _plain(path: Path) -> os.stat_result | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _opened(path: Path, media_type: str, headers: Mapping[str, str], *, is_text: bool) -> Sending | None:
    """A plain file that is open; what leads elsewhere, and what is no plain file, is not there."""
    if _plain(path) is None:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return Sending(descriptor, media_type, headers, is_text=is_text)
    os.close(descriptor)
    return None
