"""Which files are served, and what they are: those of a published set and of an audit, and no other in the directory.

A file is asked for by its name, which is looked up among those that may be; no path is made of what a client sends.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from crawler.audit.rules import TOLD
from crawler.board import SiteBoard
from crawler.fetch.media_type import content_type
from crawler.web.looks import Look
from crawler.web.sending import Sending
from sitemap import Child, SitemapError, SitemapReader

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
