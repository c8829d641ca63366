"""The files that the daemon serves: a site's published set and its audit reports, and no other file beside them.

The name in a request is looked up among the allowed names; no path is built from what a client sends. Starlette's
FileResponse sends the bytes. Its StaticFiles does not fit: it serves whole directories, and follows links. A proxy
before this server packs what it sends.
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
from starlette.responses import FileResponse, Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Receive, Scope, Send

from crawler.audit.rules import REPORTED_RULES
from crawler.fetch.header_values import content_type
from crawler.schedule.status import SiteStatus
from crawler.schedule.web.snapshots import SiteSnapshot
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
_CONDITIONS: Final = StaticFiles(check_dir=False)  # which reads the headers If-None-Match and If-Modified-Since
_own_table = re.compile(r"own\.[A-Za-z0-9_-]+").fullmatch


class OpenPublishedFile:
    """An open file as an ASGI application, which answers one request and closes the file."""

    def __init__(self, descriptor: int, headers: Mapping[str, str]) -> None:
        """``headers`` are sent with it."""
        self._descriptor = descriptor
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As https://asgi.readthedocs.io/en/latest/specs/www.html has it."""
        try:
            facts = os.fstat(self._descriptor)
            headers = {**self._headers, "etag": f'"{facts.st_mtime_ns:x}-{facts.st_size:x}"'}
            # FileResponse opens its path when it sends; a publish may have put another file there by then.
            answer: Response = FileResponse(f"/dev/fd/{self._descriptor}", headers=headers, stat_result=facts)
            if _CONDITIONS.is_not_modified(answer.headers, Headers(scope=scope)):
                answer = NotModifiedResponse(answer.headers)
            await answer({**scope, "headers": list(filter(_is_known, scope["headers"]))}, receive, send)
        finally:
            os.close(self._descriptor)


def _is_known(header: tuple[bytes, bytes]) -> bool:
    """Not a Range in another unit than bytes, which https://www.rfc-editor.org/rfc/rfc9110#section-14.2 ignores."""
    return header[0] != b"range" or header[1].startswith(b"bytes=")


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
        return _open(site.output / name, headers)

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
    return authority.lower().removesuffix(":80").removesuffix(":443")


def open_report(directory: Path, name: str) -> OpenPublishedFile | None:
    """A file that an audit wrote, or None. Raises OSError when it exists and cannot be read. Blocks."""
    if name in _REPORT_TYPES:
        policy = {"content-security-policy": REPORT_POLICY} if name == "audit.html" else {}
        return _open(directory / name, {"content-type": _REPORT_TYPES[name], **policy})
    folder, _, table = name.removesuffix(".csv").partition("/")
    if folder == "csv" and (table in _TABLES or _own_table(table)) and name.endswith(".csv"):
        file = f"{table}.csv"
        headers = {"content-type": _CSV_TYPE, "content-disposition": f'attachment; filename="{file}"'}
        return _open(directory / folder / file, headers)
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


def _open(path: Path, headers: Mapping[str, str]) -> OpenPublishedFile | None:
    if _regular(path) is None:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return OpenPublishedFile(descriptor, headers)
    os.close(descriptor)
    return None
