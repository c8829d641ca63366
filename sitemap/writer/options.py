"""Options of a set of sitemaps, with the limits of the protocol as defaults: groupings and stylesheets.

A stylesheet makes a sitemap readable in a browser (https://www.w3.org/TR/xml-stylesheet/).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files as package_files
from typing import Final, Literal
from urllib.parse import unquote

from sitemap import dates, languages, limits
from sitemap.errors import LimitExceeded, SitemapError
from sitemap.escape import escape_xml
from sitemap.model import Entry, Format
from sitemap.writer.feeds import Channel

# XSLT turns URLs into links, but browsers drop it: https://developer.chrome.com/docs/web-platform/deprecating-xslt
StylesheetKind = Literal["", "css", "xsl"]

_TYPES: Final = {"css": "text/css"}
_NAMES: Final[dict[str, tuple[str, ...]]] = {"": (), "css": ("sitemap.css",), "xsl": ("sitemap.xsl", "sitemap.css")}


@dataclass(frozen=True, slots=True)
class Stylesheet:
    """A custom stylesheet: its URL, absolute or relative to the document, and its media type.

    The type "" is derived from the suffix. The documents of a :func:`sitemap.encoder` link it; a
    :class:`sitemap.SitemapWriter` publishes and links a built-in one (:class:`sitemap.WriterOptions`).
    """

    href: str
    type: str = ""

    def instruction(self) -> str:
        """The processing instruction and a line end."""
        kind = self.type or _TYPES.get(self.href.partition("?")[0].rpartition(".")[2].lower(), "text/xsl")
        return f'<?xml-stylesheet type="{escape_xml(kind)}" href="{escape_xml(self.href)}"?>\n'


def stylesheet_instructions(stylesheets: Sequence[Stylesheet | str]) -> str:
    """The processing instructions of a document, each with a line end. A string is the href of a stylesheet."""
    return "".join((Stylesheet(sheet) if isinstance(sheet, str) else sheet).instruction() for sheet in stylesheets)


def stylesheet_names(kind: StylesheetKind) -> tuple[str, ...]:
    """The names of the files beside a sitemap with this stylesheet. SitemapError for an unknown kind."""
    if kind not in _NAMES:
        raise SitemapError(f"the stylesheet {kind!r} does not exist. Choose css or xsl")
    return _NAMES[kind]


def stylesheet_files(kind: StylesheetKind) -> dict[str, bytes]:
    """The built-in stylesheets of a kind: their names beside the sitemap, and their bytes.

    XSLT comes with CSS, for browsers that have dropped XSLT. SitemapError for an unknown kind.
    """
    folder = package_files("sitemap.writer")
    return {name: folder.joinpath(name).read_bytes() for name in stylesheet_names(kind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterOptions:
    """The options of a :class:`sitemap.SitemapWriter`; the defaults give a plain urlset within the protocol's limits.

    ``format`` is URLSET, TEXT, RSS or ATOM, or its value ("text"); a feed needs a ``channel``. ``gzip`` compresses
    the sitemaps and adds ``.gz`` to their names; an index is compressed only if its URL ends in ``.gz``. ``max_urls``
    (entries) and ``max_bytes`` (uncompressed) limit one file and may be lower than the protocol's, never higher
    (https://www.sitemaps.org/protocol.html#index).

    ``group`` returns the group of an entry, always the same for the same entry. Each group has its own files, and there
    are at most ``max_groups`` groups (each may hold an open file). :mod:`sitemap.writer.options` has ready-made
    groupings. The files of a group that the next set does not have stay, unlisted, because they could belong to other
    tools.
    ``child`` is the template for the names of the files below an index (:class:`sitemap.writer.names.FileNames`).
    ``index`` is the file name of the index, if not that in the URL of the set: a sitemap.txt is no place for XML.
    ``always_index`` writes an index even for a single file.

    ``today`` is the present W3C date. The index uses it as the lastmod of a changed sitemap if no entry has a later
    lastmod, for example because an entry was removed.

    ``stylesheet`` publishes a stylesheet
    beside the set, so that a browser shows a table: "css" makes a plain one; "xsl" makes one with links and more
    columns, for which Chromium warns that it will drop XSLT. ``vouched`` returns whether a URL that the location rule
    forbids may be listed, because the robots.txt of its host names this sitemap
    (https://www.sitemaps.org/protocol.html#sitemaps_cross_submits).

    LimitExceeded for invalid limits, SitemapError for any other invalid option.
    """

    format: Format = Format.URLSET
    gzip: bool = False
    max_urls: int = limits.MAX_URLS
    max_bytes: int = limits.MAX_BYTES
    group: Callable[[Entry], str] | None = None
    max_groups: int = 500
    child: str = ""
    index: str = ""
    always_index: bool = False
    today: str = ""
    channel: Channel | None = None
    stylesheet: StylesheetKind = ""
    vouched: Callable[[str], bool] | None = None

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "format", Format(self.format))
        except ValueError as error:
            names = ", ".join(repr(known.value) for known in Format if known is not Format.INDEX)
            raise SitemapError(f"{self.format!r} is not a format. Choose one of {names}") from error
        stylesheet_names(self.stylesheet)  # checks it
        if self.today and not dates.is_valid_date(self.today):
            raise SitemapError(f"today is {self.today!r}. Write it as YYYY-MM-DD or YYYY-MM-DDThh:mm:ss+00:00")
        for name, limit in (("max_urls", limits.MAX_URLS), ("max_bytes", limits.MAX_BYTES)):
            number = getattr(self, name)
            if not isinstance(number, int) or not 1 <= number <= limit:
                raise LimitExceeded(f"{name} is {number!r}: it must be an integer from 1 to {limit:,}")


Grouping = Callable[[Entry], str]

OTHER_GROUP: Final = "other"
_ROOT_GROUP: Final = "root"
_LONGEST_CODE: Final = 16  # characters; zh-Hant-TW has 10


def by_section(depth: int = 1) -> Grouping:
    """Groups by the first ``depth`` directories of the path: ``/shop/shoes/red`` is in ``shop``, or ``shop-shoes``.

    A page in no directory is in ``root``. SitemapError for a depth below 1.
    """
    if depth < 1:
        raise SitemapError(f"the depth of a section is {depth} directories: it must be at least 1")

    def section(entry: Entry) -> str:
        return "-".join(unquote(name) for name in _path(entry.loc)[:-1][:depth] if name) or _ROOT_GROUP

    return section


def by_pattern(patterns: Mapping[str, str | re.Pattern[str]]) -> Grouping:
    """Groups by the first of the named regular expressions that matches in the URL; other pages are in ``other``.

    SitemapError for an invalid regular expression.
    """
    try:
        compiled = [(name, re.compile(pattern)) for name, pattern in patterns.items()]
    except re.error as error:
        raise SitemapError(f"{str(error.pattern)[:200]!r} is not a regular expression: {error}") from error

    def match(entry: Entry) -> str:
        return next((name for name, pattern in compiled if pattern.search(entry.loc)), OTHER_GROUP)

    return match


def by_language() -> Grouping:
    """Groups by language: that of the alternate that is the page itself, else that of a path such as ``/pt-br/…``.

    Names are in lower case with hyphens; a page without a language is in ``other``.
    """

    def language(entry: Entry) -> str:
        own = [alternate.hreflang.lower() for alternate in entry.alternates if alternate.href == entry.loc]
        return next((name for name in own if name != "x-default"), "") or _language(_path(entry.loc)[0])

    return language


def by_type() -> Grouping:
    """Groups by content: ``news``, else ``video``, else ``image``, else ``page``."""

    def kind(entry: Entry) -> str:
        if entry.news is not None:
            return "news"
        if entry.videos:
            return "video"
        return "image" if entry.images else "page"

    return kind


@lru_cache(maxsize=1024)
def _language(segment: str) -> str:
    code = segment.lower().replace("_", "-")
    is_language = 2 <= len(code) <= _LONGEST_CODE and code != "x-default" and not languages.hreflang_fault(code)
    return code if is_language else OTHER_GROUP


def _path(url: str) -> list[str]:
    """The segments of the path, at least one."""
    return url.partition("?")[0].partition("#")[0].split("/")[3:] or [""]
