"""The files that the daemon serves: a site's published set and its audit reports, and no other file beside them.

The name in a request is looked up among the allowed names; no path is built from what a client sends. Starlette's
FileResponse and GZipResponder send the bytes. Starlette's StaticFiles does not fit: it serves whole directories, and
follows links.
"""

import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipResponder
from starlette.responses import FileResponse, Response
from starlette.staticfiles import NotModifiedResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from crawler.audit.rules import REPORTED_RULES
from crawler.fetch.header_values import content_type
from crawler.schedule.status import SiteStatus
from crawler.schedule.web.snapshots import SiteSnapshot
from crawler.serve import condition_status
from sitemap import Child, SitemapError, SitemapReader

# The page of an audit contains its own policy; this one confines what is not that page.
REPORT_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_PUBLISHED_POLICY: Final = "default-src 'self'; style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLESHEETS: Final = frozenset({"sitemap.css", "sitemap.xsl"})
_REPORT_TYPES: Final = {
    "audit.html": "text/html; charset=utf-8",
    "audit.json": "application/json",
    "audit.sarif": "application/sarif+json",
    "audit.junit.xml": "application/xml",
    "audit.xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_TABLES: Final = ("findings", "redirects", "links", *REPORTED_RULES)
_CSV_TYPE: Final = "text/csv; charset=utf-8"
_DEFAULT_PORTS: Final = (":80", ":443")
_ONE_PACKET: Final = 1_400  # bytes: compressing less saves nothing
_GZIP_LEVEL: Final = 2
_own_table = re.compile(r"own\.[A-Za-z0-9_-]+").fullmatch
_one_range = re.compile(r"bytes=[ \t]*(\d{0,18})-(\d{0,18})[ \t]*", re.ASCII).fullmatch
_positive_weight = re.compile(
    r"[ \t]*q[ \t]*=[ \t]*(?:0\.0{0,2}[1-9]\d{0,2}|1(?:\.0{0,3})?)[ \t]*", re.ASCII | re.IGNORECASE
).fullmatch


class OpenPublishedFile:
    """An open file as an ASGI application, which answers one request and closes the file.

    It adds to Starlette what https://www.rfc-editor.org/rfc/rfc9110 asks for and Starlette lacks: an ETag of its own
    for the gzip (section 8.8.3.3), the weights of Accept-Encoding (12.5.3), HEAD of the gzip (9.3.2), If-Match and
    If-Unmodified-Since (13.1), and the right to ignore a Range (14.2), which Starlette refuses when it is not valid.
    """

    def __init__(self, descriptor: int, headers: Mapping[str, str], *, is_text: bool) -> None:
        """``headers`` are sent with it; ``is_text`` allows gzip on the way."""
        self._descriptor = descriptor
        self._headers = headers
        self._is_text = is_text

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As https://asgi.readthedocs.io/en/latest/specs/www.html has it."""
        scope = _with_one_range(scope)
        try:
            await self._answer(Headers(scope=scope), scope["method"])(scope, receive, send)
        finally:
            os.close(self._descriptor)

    def _answer(self, request: Headers, method: str) -> ASGIApp:
        facts = os.fstat(self._descriptor)
        tag = f"{facts.st_mtime_ns:x}-{facts.st_size:x}"
        tags = (f'"{tag}"', f'"{tag}-gzip"')
        is_gzip = self._is_text and facts.st_size > _ONE_PACKET and "range" not in request
        is_gzip = is_gzip and _accepts_gzip(request)
        headers = {**self._headers, "etag": tags[is_gzip]}
        if self._is_text:
            headers["vary"] = "Accept-Encoding"
        # FileResponse opens its path when it sends; a publish may have put another file there by then.
        answer = FileResponse(f"/dev/fd/{self._descriptor}", headers=headers, stat_result=facts)
        status = condition_status(lambda name: ",".join(request.getlist(name)), tags, int(facts.st_mtime))
        if status == 412:
            return Response(status_code=status)
        if status == 304:
            return NotModifiedResponse(answer.headers)
        if is_gzip and method == "HEAD":  # GZipResponder compresses bodies only
            answer.headers["content-encoding"] = "gzip"
            del answer.headers["content-length"]
        elif is_gzip:
            del answer.headers["vary"]  # GZipResponder adds it
            return GZipResponder(answer, 0, _GZIP_LEVEL)
        return answer


def _with_one_range(scope: Scope) -> Scope:
    """The request; without its Range unless that is one valid range of bytes."""
    ranges = Headers(scope=scope).getlist("range")
    found = _one_range(ranges[0]) if len(ranges) == 1 else None
    first, last = found.groups() if found else ("", "")
    if (first or last) and not (first and last and int(last) < int(first)):
        return scope
    return {**scope, "headers": [(name, value) for name, value in scope["headers"] if name != b"range"]}


def _accepts_gzip(request: Headers) -> bool:
    accepted = {}
    for item in ",".join(request.getlist("accept-encoding")).split(","):
        coding, _, weight = item.partition(";")
        accepted[coding.strip().lower()] = not weight or _positive_weight(weight) is not None
    return accepted.get("gzip", accepted.get("x-gzip", accepted.get("*", False)))


class _Index(Struct, frozen=True):
    """The file names that a published index lists; ``stamp`` tells whether the index is still the one that was read."""

    stamp: tuple[int, int, int]
    names: frozenset[str]


class PublishedFiles:
    """The published files of all sites. Its methods block."""

    def __init__(self) -> None:
        self._indexes: dict[Path, _Index] = {}

    def open(self, site: SiteStatus, snapshot: SiteSnapshot, name: str) -> OpenPublishedFile | None:
        """A file of the published set, or None. Raises OSError when it exists and cannot be read.

        The set is what the state lists, the stylesheets and the feed beside it, and what the current index lists: a
        publish replaces the files before it updates the state, and renames some of them for a moment.
        """
        if not snapshot.files or "/" in name or name.startswith("."):
            return None
        is_known = name in snapshot.names or name in _STYLESHEETS or name == site.recent
        if not is_known and name not in self._listed(site):
            return None
        headers = {
            "content-type": content_type(name),
            "cache-control": "no-cache",
            "content-security-policy": _PUBLISHED_POLICY,
        }
        return _open(site.output / name, headers, is_text=not name.endswith(".gz"))

    def _listed(self, site: SiteStatus) -> frozenset[str]:
        """The files that the sitemap lists, if it is an index."""
        directory, name = _split(site.sitemap_url)
        path = site.output / name
        try:
            facts = path.lstat()
            stamp = (facts.st_ino, facts.st_mtime_ns, facts.st_size)
            index = self._indexes.get(path)
            if index is None or index.stamp != stamp:
                index = self._indexes[path] = _Index(stamp, _children(path, directory))
        except OSError:
            return frozenset()
        return index.names


def _children(path: Path, directory: str) -> frozenset[str]:
    names = set()
    try:
        with path.open("rb") as file:
            for item in SitemapReader(file, file=path.name):
                if not isinstance(item, Child):
                    break
                parent, name = _split(item.loc)
                if parent == directory:
                    names.add(name)
    except SitemapError:
        return frozenset()
    return frozenset(names)


def _split(url: str) -> tuple[str, str]:
    """A URL's directory, and the name of its file on the disk."""
    directory, _, name = url.partition("?")[0].rpartition("/")
    return directory, unquote(name)


def find_public(sites: Iterable[SiteStatus], host: str, path: str) -> tuple[SiteStatus, str] | None:
    """The site whose sitemap is in this directory of this host, and the name of the file; None: there is none."""
    folder, _, name = path.rpartition("/")
    for site in sites:
        parts = urlsplit(site.sitemap_url)
        is_same = _without_port(parts.netloc) == _without_port(host)
        if is_same and unquote(parts.path).rpartition("/")[0] == folder:
            return (site, name) if name else None
    return None


def _without_port(authority: str) -> str:
    host = authority.lower()
    for port in _DEFAULT_PORTS:
        host = host.removesuffix(port)
    return host


def open_report(directory: Path, name: str) -> OpenPublishedFile | None:
    """A file that an audit wrote, or None. Raises OSError when it exists and cannot be read. Blocks."""
    if name in _REPORT_TYPES:
        policy = {"content-security-policy": REPORT_POLICY} if name == "audit.html" else {}
        return _open(
            directory / name, {"content-type": _REPORT_TYPES[name], **policy}, is_text=not name.endswith(".xlsx")
        )
    folder, _, table = name.removesuffix(".csv").partition("/")
    if folder == "csv" and (table in _TABLES or _own_table(table)) and name.endswith(".csv"):
        file = f"{table}.csv"
        headers = {"content-type": _CSV_TYPE, "content-disposition": f'attachment; filename="{file}"'}
        return _open(directory / folder / file, headers, is_text=True)
    return None


def list_reports(directory: Path) -> list[tuple[str, int, float]]:
    """The files of an audit that exist: name, bytes and Unix time, the tables last. Blocks."""
    own = sorted(f"csv/{file.name}" for file in (directory / "csv").glob("own.*.csv") if _own_table(file.stem))
    names = [*_REPORT_TYPES, *(f"csv/{table}.csv" for table in _TABLES), *own]
    return [
        (name, facts.st_size, facts.st_mtime) for name in names if (facts := _regular(directory / name)) is not None
    ]


def _regular(path: Path) -> os.stat_result | None:
    """The facts of a regular file; None: it is a link, a pipe or the like, or nothing."""
    try:
        facts = path.lstat()
    except OSError:
        return None
    return facts if stat.S_ISREG(facts.st_mode) else None


def _open(path: Path, headers: Mapping[str, str], *, is_text: bool) -> OpenPublishedFile | None:
    if _regular(path) is None:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return OpenPublishedFile(descriptor, headers, is_text=is_text)
    os.close(descriptor)
    return None
