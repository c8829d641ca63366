"""Owns the fast road of entries that say only where they are and when they changed: one, or many at once.

What comes out is, byte by byte, what the encoders make of each of them. What is in any way unusual is not taken.
"""

import re
from collections.abc import Callable, Sequence
from operator import eq
from typing import Final

from sitemap import dates, limits
from sitemap.formats import Format
from sitemap.model import Entry

# Printable ASCII that neither sitemap.escape.uri() nor escape() changes, but for the ampersand.
_PLAIN_BYTES: Final = bytes(sorted(set(range(0x21, 0x7F)) - set(b"[]#<>\"'\\")))
_PLAIN_OR_BLANK: Final = _PLAIN_BYTES + b" "
_unusual: Final = re.compile(f"[^{re.escape(_PLAIN_BYTES.decode())}]").search
_unusual_percent: Final = re.compile("%(?:2[eE]|(?![0-9A-Fa-f]{2}))").search


class EntryBatch:
    """Entries that can be listed as they are."""

    __slots__ = ("_newest", "entries", "lastmods", "locs")

    def __init__(self, entries: Sequence[Entry], locs: list[str], lastmods: list[str], newest: str) -> None:
        self.entries = entries
        self.locs = locs  # escaped for XML
        self.lastmods = lastmods
        self._newest = newest

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
        return self._newest if len(lastmods) == len(self.lastmods) else dates.newest_date(lastmods) or ""


def plain_batch(entries: Sequence[Entry], directory: str, before: str) -> EntryBatch | None:
    """The entries when all are plain, valid below ``directory`` and none is the same as the one before; else None.

    ``before`` is the URL in front of the first. None does not mean that anything is wrong.
    """
    for entry in entries:
        # Written out, here and in _usual_loc(): a call for each of millions of entries takes as long as the tests.
        if (
            entry.priority is not None
            or entry.news is not None
            or entry.changefreq
            or entry.images
            or entry.videos
            or entry.alternates
            or entry.mobile
        ):
            return None
    locs = [entry.loc for entry in entries]
    if not locs or locs[0] == before or any(map(eq, locs, locs[1:])):
        return None
    joined = " ".join(locs)
    if not _all_usual(joined, len(locs), directory):
        return None
    if max(map(len, locs)) > limits.MAX_LOC:
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
    """The URL, escaped for XML, of an entry that is plain and valid below ``directory``; else None."""
    if (
        entry.priority is not None
        or entry.news is not None
        or entry.changefreq
        or entry.images
        or entry.videos
        or entry.alternates
        or entry.mobile
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
    """Whether URLs, joined by blanks, hold nothing to be changed and begin with the directory they cannot leave."""
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


def _encode_urlset(some: EntryBatch, part: slice) -> bytes:
    pairs = zip(some.locs[part], some.lastmods[part], strict=True)
    if "" not in some.lastmods[part]:
        lines = [f"<url><loc>{loc}</loc><lastmod>{lastmod}</lastmod></url>\n" for loc, lastmod in pairs]
    else:
        lines = [
            f"<url><loc>{loc}</loc><lastmod>{lastmod}</lastmod></url>\n"
            if lastmod
            else f"<url><loc>{loc}</loc></url>\n"
            for loc, lastmod in pairs
        ]
    return "".join(lines).encode()


def _encode_text(some: EntryBatch, part: slice) -> bytes:
    return "".join([f"{entry.loc}\n" for entry in some.entries[part]]).encode()


def _urlset_line(entry: Entry, directory: str) -> bytes | None:
    loc, lastmod = _usual_loc(entry, directory), entry.lastmod
    if loc is None:
        return None
    if not lastmod:
        return f"<url><loc>{loc}</loc></url>\n".encode()
    return f"<url><loc>{loc}</loc><lastmod>{lastmod}</lastmod></url>\n".encode()


def _text_line(entry: Entry, directory: str) -> bytes | None:
    return None if _usual_loc(entry, directory) is None else f"{entry.loc}\n".encode()


# How one is written if it is plain and valid below a directory, and else not, in the formats that have so little to
# say of an entry; and how some of many are.
LINE_ENCODERS: Final[dict[Format, Callable[[Entry, str], bytes | None]]] = {
    Format.URLSET: _urlset_line,
    Format.TEXT: _text_line,
}
BATCH_ENCODERS: Final[dict[Format, Callable[[EntryBatch, slice], bytes]]] = {
    Format.URLSET: _encode_urlset,
    Format.TEXT: _encode_text,
}
