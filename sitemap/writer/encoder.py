"""The common part of all encoders, and the encoders of text and urlsets, with elements in the order of the XSDs.

Entries with only a loc and a lastmod have a fast path, which gives the same bytes.

The fields of an entry that each format contains; the others are left out:

============================  ======  ====  ===  ========
field                         urlset  text  RSS  Atom
============================  ======  ====  ===  ========
loc                           yes     yes   yes  yes
lastmod                       yes           yes  required
changefreq, priority          yes
images, videos                yes           yes  yes
alternates                    yes
news                          yes
title, summary                              yes  yes
============================  ======  ====  ===  ========
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import eq
from typing import ClassVar, Final

from sitemap import dates, limits, namespaces
from sitemap.escape import XML_DECLARATION, escape_uri, escape_xml
from sitemap.model import Entry, Format
from sitemap.writer.extensions import (
    alternate_element,
    decimal_text,
    image_element,
    news_element,
    text_element,
    video_element,
)

# The extensions of an entry as bits; plain integers are fast, and they are computed for each entry.
IMAGES: Final = 1
VIDEOS: Final = 2
NEWS: Final = 4
ALTERNATES: Final = 8
_PREFIXES: Final = (
    (IMAGES, "image", namespaces.IMAGE),
    (VIDEOS, "video", namespaces.VIDEO),
    (NEWS, "news", namespaces.NEWS),
    (ALTERNATES, "xhtml", namespaces.XHTML),
)
_ANY_DATE: Final = "1970-01-01"  # all dates have the same length in a head


class Encoder(ABC):
    """Encodes documents of one format: a head, entries and a foot. Checks no limits.

    ``suffix`` is that of uncompressed files. ``news`` is the bit of entries with news, which have a lower limit; 0 for
    a format without news.
    """

    format: ClassVar[Format]
    suffix: ClassVar[str] = ".xml"
    news: ClassVar[int] = 0
    _foot: ClassVar[bytes]

    def fault(self, entry: Entry) -> str:
        """Why this format cannot contain an entry, or "". :mod:`sitemap.validation` checks the common rules."""
        return ""

    def extensions(self, entry: Entry) -> int:
        """Bits of the namespaces that the head must declare for the entry; combine them with ``|``."""
        return 0

    @abstractmethod
    def entry(self, entry: Entry) -> bytes:
        """One entry with its line end, UTF-8."""

    @abstractmethod
    def head(self, extensions: int, updated: str) -> bytes:
        """The bytes before the first entry. ``updated`` is the newest lastmod of the document's entries or ""."""

    def foot(self) -> bytes:
        """The bytes after the last entry."""
        return self._foot

    def room(self, extensions: int) -> int:
        """The most bytes of head and foot together, for any ``updated``."""
        return len(self.head(extensions, _ANY_DATE)) + len(self._foot)


class TextEncoder(Encoder):
    """Encodes text: a URL in each line, without head and foot."""

    format = Format.TEXT
    suffix = ".txt"
    _foot = b""

    def entry(self, entry: Entry) -> bytes:
        """The URL and a line end."""
        return f"{escape_uri(entry.loc)}\n".encode()

    def head(self, extensions: int, updated: str) -> bytes:
        """Nothing."""
        return b""


class UrlsetEncoder(Encoder):
    """Encodes urlsets. ``look`` are the stylesheet instructions."""

    format = Format.URLSET
    news = NEWS
    _foot = b"</urlset>\n"

    def __init__(self, look: str = "") -> None:
        self._start = f'{XML_DECLARATION}{look}<urlset xmlns="{namespaces.SITEMAP}"'

    def extensions(self, entry: Entry) -> int:
        """The namespaces that the entry needs."""
        return (
            (IMAGES if entry.images else 0)
            | (VIDEOS if entry.videos else 0)
            | (NEWS if entry.news else 0)
            | (ALTERNATES if entry.alternates else 0)
        )

    def entry(self, entry: Entry) -> bytes:
        """One ``url`` element."""
        loc = escape_uri(entry.loc)
        # The checks of escape_xml() are inlined because this runs for each of millions of entries.
        if "&" in loc or "<" in loc or ">" in loc or '"' in loc or "'" in loc or not loc.isprintable():
            loc = escape_xml(loc)
        lastmod = f"<lastmod>{escape_xml(entry.lastmod)}</lastmod>" if entry.lastmod else ""
        return f"<url><loc>{loc}</loc>{lastmod}{self._rest(entry)}</url>\n".encode()

    def head(self, extensions: int, updated: str) -> bytes:
        """The start of the document; declares only the namespaces of these bits."""
        declared = "".join(f' xmlns:{prefix}="{name}"' for bit, prefix, name in _PREFIXES if extensions & bit)
        return f"{self._start}{declared}>\n".encode()

    def _rest(self, entry: Entry) -> str:
        """The elements after ``lastmod``."""
        if (
            entry.priority is None
            and not (entry.changefreq or entry.images or entry.videos or entry.alternates)
            and entry.news is None
        ):
            return ""
        parts = [text_element("changefreq", entry.changefreq)]
        if entry.priority is not None:
            parts.append(f"<priority>{decimal_text(entry.priority)}</priority>")
        parts += [image_element(image) for image in entry.images]
        parts += [video_element(video) for video in entry.videos]
        if entry.news is not None:
            parts.append(news_element(entry.news))
        parts += [alternate_element(alternate) for alternate in entry.alternates]
        return "".join(parts)


# Printable ASCII that neither escape_uri() nor escape_xml() changes, except the ampersand.
_PLAIN_BYTES: Final = bytes(sorted(set(range(0x21, 0x7F)) - set(b"[]#<>\"'\\")))
_PLAIN_OR_BLANK: Final = _PLAIN_BYTES + b" "
_unusual: Final = re.compile(f"[^{re.escape(_PLAIN_BYTES.decode())}]").search
_unusual_percent: Final = re.compile("%(?:2[eE]|(?![0-9A-Fa-f]{2}))").search


@dataclass(slots=True, eq=False)
class EntryBatch:
    """Plain, valid entries."""

    entries: Sequence[Entry]
    locs: list[str]  # escaped for XML
    lastmods: list[str]
    newest_of_all: str  # of the lastmods

    def __len__(self) -> int:
        return len(self.entries)

    def part(self, numbers: Sequence[int]) -> "EntryBatch":
        """Some of the entries, by number."""
        lastmods = [self.lastmods[number] for number in numbers]
        return EntryBatch(
            [self.entries[number] for number in numbers],
            [self.locs[number] for number in numbers],
            lastmods,
            dates.newest_date(lastmods) or "",
        )

    def newest(self, part: slice) -> str:
        """The newest lastmod of some of the entries."""
        lastmods = self.lastmods[part]
        return self.newest_of_all if len(lastmods) == len(self.lastmods) else dates.newest_date(lastmods) or ""


def plain_batch(entries: Sequence[Entry], directory: str, previous: str) -> EntryBatch | None:
    """The entries as a batch if all are plain, valid below ``directory`` and unlike the previous one; else None.

    ``previous`` is the URL before the first one. None does not mean that an entry is invalid.
    """
    for entry in entries:
        # Inlined here and in _usual_loc(): a call for each of millions of entries takes as long as the checks.
        if (
            entry.priority is not None
            or entry.news is not None
            or entry.changefreq
            or entry.images
            or entry.videos
            or entry.alternates
        ):
            return None
    locs = [entry.loc for entry in entries]
    if not locs or locs[0] == previous or any(map(eq, locs, locs[1:])):
        return None
    joined = " ".join(locs)
    if not _all_usual(joined, len(locs), directory) or max(map(len, locs)) > limits.MAX_LOC:
        return None
    if len(directory) < limits.MIN_LOC and min(map(len, locs)) < limits.MIN_LOC:
        return None
    lastmods = [entry.lastmod for entry in entries]
    newest = dates.newest_date(lastmods)
    if newest is None:
        return None
    if "&" in joined:
        locs = joined.replace("&", "&amp;").split(" ")
    return EntryBatch(entries, locs, lastmods, newest)


def _usual_loc(entry: Entry, directory: str) -> str | None:
    """The URL, escaped for XML, of an entry if it is plain and valid below ``directory``; else None."""
    if (
        entry.priority is not None
        or entry.news is not None
        or entry.changefreq
        or entry.images
        or entry.videos
        or entry.alternates
        or (entry.lastmod and not dates.is_valid_date(entry.lastmod))
    ):
        return None
    loc = entry.loc
    if not loc.startswith(directory) or not limits.MIN_LOC <= len(loc) <= limits.MAX_LOC:
        return None
    if _unusual(loc) or "/." in loc or ("%" in loc and _unusual_percent(loc)):
        return None
    return loc.replace("&", "&amp;") if "&" in loc else loc


def _all_usual(joined: str, count: int, directory: str) -> bool:
    """Whether URLs, joined by blanks, need no escaping, begin with the directory and have no dot segments."""
    if not joined.isascii() or not joined.startswith(directory):
        return False
    data = joined.encode()
    start = b" " + directory.encode()
    return (
        data.count(b" ") == data.count(start) == count - 1
        and not data.translate(None, _PLAIN_OR_BLANK)
        and "/." not in joined
        and not ("%" in joined and _unusual_percent(joined))
    )


def _encode_urlset(batch: EntryBatch, part: slice) -> bytes:
    pairs = zip(batch.locs[part], batch.lastmods[part], strict=True)
    if "" not in batch.lastmods[part]:
        lines = [f"<url><loc>{loc}</loc><lastmod>{lastmod}</lastmod></url>\n" for loc, lastmod in pairs]
    else:
        lines = [
            f"<url><loc>{loc}</loc><lastmod>{lastmod}</lastmod></url>\n"
            if lastmod
            else f"<url><loc>{loc}</loc></url>\n"
            for loc, lastmod in pairs
        ]
    return "".join(lines).encode()


def _encode_text(batch: EntryBatch, part: slice) -> bytes:
    return "".join([f"{entry.loc}\n" for entry in batch.entries[part]]).encode()


def _urlset_line(entry: Entry, directory: str) -> bytes | None:
    loc, lastmod = _usual_loc(entry, directory), entry.lastmod
    if loc is None:
        return None
    if not lastmod:
        return f"<url><loc>{loc}</loc></url>\n".encode()
    return f"<url><loc>{loc}</loc><lastmod>{lastmod}</lastmod></url>\n".encode()


def _text_line(entry: Entry, directory: str) -> bytes | None:
    return None if _usual_loc(entry, directory) is None else f"{entry.loc}\n".encode()


# By format: the encoder of one entry, which returns None unless it is plain, and that of a part of a batch.
LINE_ENCODERS: Final[dict[Format, Callable[[Entry, str], bytes | None]]] = {
    Format.URLSET: _urlset_line,
    Format.TEXT: _text_line,
}
BATCH_ENCODERS: Final[dict[Format, Callable[[EntryBatch, slice], bytes]]] = {
    Format.URLSET: _encode_urlset,
    Format.TEXT: _encode_text,
}
