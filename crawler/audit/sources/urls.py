"""Which URL of the site a text in a log or an export means: a path, an address, in whatever spelling."""

import re
from collections.abc import Callable
from enum import Enum, auto
from typing import Final

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
