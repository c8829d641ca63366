"""Parses the paths and URLs of logs and exports as URLs of the site, and finds the files of sources."""

import glob
import re
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Final

from crawler.audit.source_record import SourceReport
from crawler.errors import UsageError
from crawler.model import Url
from crawler.url.normalize import InvalidUrl, host_of, join_url, origin_of
from crawler.url.params import UrlParams, clean_query
from crawler.url.scope import alias_origins

_NON_PAGE_SUFFIX_TEXT: Final = """
7z apk avi avif bmp br bz2 css csv dll dmg eot exe flac flv gif gz ico iso jpeg jpg js json jxl key less map
m3u8 m4a m4s m4v md5 mjs mkv mov mp3 mp4 mpeg mpg msi ogg ogv otf pem pkg png rar rss scss sha1 sha256 sql
svg swf tar tgz tif tiff ts ttf txt wasm wav webm webmanifest webp wmv woff woff2 xml xz yaml yml zip zst
"""

NON_PAGE_SUFFIXES: Final = frozenset(_NON_PAGE_SUFFIX_TEXT.split())
"""Suffixes of paths that seldom name a page; most lines of a log have one."""


# A path in canonical form: no escapes, no query, and no segment that is empty or begins with a dot.
_plain = re.compile(r"/(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]*+/)*+(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]*+)?").fullmatch

# A query that canonical form leaves as it is, but for the parameters that are dropped.
_plain_query = re.compile(r"[A-Za-z0-9._~!$&()*+,;=:@/?-]*+").fullmatch

_MAX_FAST_LENGTH: Final = 1_000  # characters of a path and query that need no parsing


class RejectReason(Enum):
    """Why a text is no URL of a page of the site: the name of the count of such rows in a SourceReport."""

    UNREAD = "unread"  # no URL at all
    FOREIGN = "foreign"  # of another site, or out of scope
    NO_URL = "beside"  # a row that sums up others, such as "(other)"


def count_row(report: SourceReport, url: Url | RejectReason) -> Url | None:
    """Count a row in the report of its source. Its URL, None if it is not of the site."""
    name = url.value if isinstance(url, RejectReason) else "used"
    setattr(report, name, getattr(report, name) + 1)
    return None if isinstance(url, RejectReason) else url


class SourceUrlParser:
    """Parses the texts of sources as URLs of the site. ``start`` is its start, ``params`` those of its canonical URLs.

    ``is_ours`` says whether a URL is in the scope of the audit. The host with and without ``www.`` and both schemes
    count as the site, because many sources name a URL before its redirect. ``origin`` is that of the site,
    ``alias_origins`` are the others. ``directory`` is the URL that all URLs of the site begin with, "": the origin.
    """

    def __init__(self, start: Url, params: UrlParams, is_ours: Callable[[Url], bool], directory: str = "") -> None:
        self._start = start
        self.origin = origin_of(start)
        self.alias_origins = frozenset(alias_origins(start))
        self._params = params
        self._is_ours = is_ours
        self._directory = directory

    @property
    def site(self) -> str:
        """The host of the site without ``www.``, for messages."""
        return self.origin.partition("://")[2].removeprefix("www.")

    def own_paths(self) -> tuple[list[bytes], bytes, UrlParams]:
        """The hosts of the site, without ports; the path that all of its URLs begin with; their params."""
        hosts = {host_of(Url(f"{origin}/")) for origin in (self.origin, *self.alias_origins)}
        path = self._directory.removeprefix(self.origin) or "/"
        return sorted(host.encode() for host in hosts), path.encode(), self._params

    def parse(self, text: str) -> Url | RejectReason:
        """The URL of a path (``/a?b``) or an absolute URL. Other relative references are no URLs."""
        if len(text) < _MAX_FAST_LENGTH:  # most texts in a log
            path, _, query = text.partition("?")
            if _plain(path) and (not query or (_plain_query(query) and self._params.mirror is None)):
                query = clean_query(query, self._params)
                return self._url_or_reason(Url(f"{self.origin}{path}{'?' if query else ''}{query}"))
        text = text.strip()
        if not text.startswith(("/", "http://", "https://", "HTTP://", "HTTPS://")):
            return RejectReason.UNREAD
        try:
            # "//a" is a path in the request line of a log, and would be a host in a link
            url = join_url(self._start, f"{self.origin}{text}" if text.startswith("/") else text, self._params)
        except InvalidUrl:
            return RejectReason.UNREAD
        if origin_of(url) in self.alias_origins:
            url = Url(self.origin + url[len(origin_of(url)) :])
        return self._url_or_reason(url)

    def _url_or_reason(self, url: Url) -> Url | RejectReason:
        return url if self._is_ours(url) else RejectReason.FOREIGN


def file_pattern(url: Url) -> str:
    """The directory and the suffix of a URL that looks like a file (``https://a.example/img/*.png``), else "".

    It may be a page all the same: ``/tech/node.js``, ``/wiki/File:Logo.png``.
    """
    folder, _, name = url.partition("?")[0].rpartition("/")
    suffix = name.rpartition(".")[2].lower()
    return f"{folder}/*.{suffix}" if suffix in NON_PAGE_SUFFIXES and "." in name else ""


_rotated: Final = re.compile(r"^(.*?)[.-](\d{1,4})(\.(?:gz|zst|bz2|xz|log|txt))*$")


def find_files(path: str, flag: str) -> list[str]:
    """The path itself if it exists, also as a folder, else the files that match it as a glob.

    ``flag`` is the option that named it. Raises UsageError for a path that does not exist or cannot be read.
    """
    try:
        if Path(path).exists():
            return [path]
        names = [name for name in glob.glob(path, recursive=True) if Path(name).is_file()]  # noqa: PTH207 - with folders
    except (OSError, ValueError) as error:
        raise UsageError(f"{flag} {path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not names:
        raise UsageError(
            f"{flag} {path} matches no file. Give a file, a folder, or a glob that matches at least one file"
        )
    return names


def files_in(folder: str, flag: str) -> list[str]:
    """The files in a folder and its subfolders, without hidden files. Raises UsageError."""
    try:
        next(Path(folder).iterdir(), None)  # raises without permission, unlike rglob
        paths = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    except OSError as error:
        raise UsageError(f"{flag} {folder}: the folder cannot be read: {error.strerror or error}") from None
    return [str(path) for path in paths if not path.name.startswith(".")]


def rotation_key(name: str) -> tuple[str, int, str]:
    """A key that sorts rotated logs: access.log.10 before access.log.2 before access.log; dates as they are."""
    match = _rotated.match(name)
    return (match[1], -int(match[2]), name) if match else (name, 0, name)
