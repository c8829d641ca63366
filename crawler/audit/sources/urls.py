"""Which URL of the site a text in a log or an export means: a path, an address, in whatever spelling."""

import glob
import re
from collections.abc import Callable
from enum import Enum, auto
from pathlib import Path
from typing import Final

from crawler.errors import UsageError
from crawler.model import Url
from crawler.url.normalize import InvalidUrl, join_url, origin_of, path_of
from crawler.url.params import UrlParams
from crawler.url.scope import alias_origins

_NON_PAGE_SUFFIX_TEXT: Final = """
7z apk avi avif bmp br bz2 css csv dll dmg eot exe flac flv gif gz ico iso jpeg jpg js json jxl key less map
m3u8 m4a m4s m4v md5 mjs mkv mov mp3 mp4 mpeg mpg msi ogg ogv otf pem pkg png rar rss scss sha1 sha256 sql
svg swf tar tgz tif tiff ts ttf txt wasm wav webm webmanifest webp wmv woff woff2 xml xz yaml yml zip zst
"""

NON_PAGE_SUFFIXES: Final = frozenset(_NON_PAGE_SUFFIX_TEXT.split())

"""Ends of paths that name no page. A log is mostly of these."""


# A path in canonical form: no escapes, no query, and no segment that is empty or begins with a dot.
_plain = re.compile(r"/(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]*+/)*+(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]*+)?").fullmatch

_MAX_FAST_LENGTH: Final = 1_000  # characters of one that need no further look


class RejectReason(Enum):
    """Why a text is no URL of a page of the site."""

    UNREAD = auto()  # it is no URL at all
    FOREIGN = auto()  # another site's, or outside of what is audited
    NOT_A_PAGE = auto()  # a style sheet, a picture, a download


class SourceUrlParser:
    """Makes URLs of what sources name. ``start`` is the site's, ``params`` are what its URLs are made with.

    ``is_ours`` says whether a URL is in the scope of the audit. The host with and without ``www.``, and either scheme,
    are the site: most sources say whatever was asked for before a redirect. ``origin`` is the site's, ``doors`` are
    these others.
    """

    def __init__(self, start: Url, params: UrlParams, is_ours: Callable[[Url], bool]) -> None:
        self._start = start
        self.origin = origin_of(start)
        self.alias_origins = frozenset(alias_origins(start))
        self._params = params
        self._is_ours = is_ours

    @property
    def site(self) -> str:
        """The host of the site, without ``www.``, for people."""
        return self.origin.partition("://")[2].removeprefix("www.")

    def parse(self, text: str) -> Url | RejectReason:
        """The URL that a path (``/a?b``) or an address means. What is relative otherwise is no URL."""
        if len(text) < _MAX_FAST_LENGTH and _plain(text):  # as most are in a log
            return self._url_or_reason(Url(self.origin + text))
        text = text.strip()
        if not text.startswith(("/", "http://", "https://", "HTTP://", "HTTPS://")):
            return RejectReason.UNREAD
        try:
            # "//a" is a path in the request line of a log, and would be a host in a link
            url = join_url(
                self._start, f"{self.origin}{text}" if text.startswith("/") else text, self._params
            )
        except InvalidUrl:
            return RejectReason.UNREAD
        if origin_of(url) in self.alias_origins:
            url = Url(self.origin + url[len(origin_of(url)) :])
        return self._url_or_reason(url)

    def _url_or_reason(self, url: Url) -> Url | RejectReason:
        if not self._is_ours(url):
            return RejectReason.FOREIGN
        return RejectReason.NOT_A_PAGE if is_not_a_page(url) else url


def is_not_a_page(url: Url) -> bool:
    """Whether the end of a path says that there is no page."""
    name = path_of(url).rpartition("/")[2]
    return name.rpartition(".")[2].lower() in NON_PAGE_SUFFIXES if "." in name else False


_rotated: Final = re.compile(r"^(.*?)[.-](\d{1,4})(\.(?:gz|zst|bz2|xz|log|txt))*$")


def find_files(given: str, flag: str) -> list[str]:
    """What a path names, a folder too, or else the files that match it as a glob; ``flag`` is what it was given with.

    Raises UsageError when there is nothing, or nothing that we may look at.
    """
    try:
        if Path(given).exists():
            return [given]
        found = [name for name in glob.glob(given, recursive=True) if Path(name).is_file()]  # noqa: PTH207 - with folders
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot read {given}: {getattr(error, 'strerror', None) or error} ({flag})"
        ) from None
    if not found:
        raise UsageError(f"there is no file {given}; name files, folders or globs that match ({flag})")
    return found


def files_in(folder: str, flag: str) -> list[str]:
    """The files in a folder and in those below it, but for hidden ones. Raises UsageError."""
    try:
        next(Path(folder).iterdir(), None)  # which says so when we may not, as rglob does not
        found = sorted(each for each in Path(folder).rglob("*") if each.is_file())
    except OSError as error:
        raise UsageError(f"cannot read the folder {folder}: {error.strerror or error} ({flag})") from None
    return [str(each) for each in found if not each.name.startswith(".")]


def rotation_key(name: str) -> tuple[str, int, str]:
    """Sorts what was rotated: access.log.10 before access.log.2 before access.log; dates as they are."""
    found = _rotated.match(name)
    return (found[1], -int(found[2]), name) if found else (name, 0, name)
