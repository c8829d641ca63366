"""The fast path for entries that have only a loc and a lastmod: encodes one, or many at once.

The bytes are the same as those of the encoders. Unusual entries are left to them.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import eq
from typing import Final

from sitemap import dates, limits
from sitemap.model import Entry, Format

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
            or entry.mobile
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
