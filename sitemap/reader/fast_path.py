"""The fast path: one regular expression reads a run of plain items without an XML parser. Pure.

A plain item breaks no rule: it has the elements of the schema in order, an absolute URL in the characters of RFC 3986,
and an existing date that the XSD allows. The first other item ends the run, and the XML parser continues there. The
result is the same either way.
"""

import re
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from sitemap import limits
from sitemap.model import Child, Entry
from sitemap.reader.values import PRIORITIES

_SPACE = r"[ \t\r\n]*+"
# Printable ASCII without < > & " \ ^ ` { | } [ ] and #. The URL has at least 12 characters, limits.MIN_LOC.
_CHARACTER = r"[!$%'-;=?-Z_a-z~]"
_URL_PATTERN = rf"https?+://[A-Za-z0-9]{_CHARACTER}{{4,}}+(?:&(?:amp|apos);{_CHARACTER}*+)*+"
_DAY_PATTERN = (
    r"(?!0000)[0-9]{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)"
    r"|(?:0[13578]|1[02])-31|(?<=[13579][26]-|[2468][048]-|0[48]-)02-29)"
)
_CLOCK_PATTERN = (
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6}+)?+"
    r"(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))"
)
_HINT_PATTERN = (
    rf"(?:<changefreq>({'|'.join(sorted(limits.CHANGE_FREQUENCIES))})</changefreq>{_SPACE})?+"
    rf"(?:<priority>(0\.[0-9]|1\.0|[01])</priority>{_SPACE})?+"
)
_LONE_RETURN = re.compile("\r(?!\n)")


def _plain(name: str, hints: str) -> re.Pattern[str]:
    """A pattern that splits a text into the values of plain items; the rest of the text is the last value."""
    return re.compile(
        rf"{_SPACE}<{name}>{_SPACE}<loc>({_URL_PATTERN})</loc>{_SPACE}"
        rf"(?:<lastmod>({_DAY_PATTERN}(?:{_CLOCK_PATTERN})?+)</lastmod>{_SPACE})?+{hints}</{name}>|((?s:.)++)"
    )


_PATTERNS: Final = {"url": _plain("url", _HINT_PATTERN), "sitemap": _plain("sitemap", "")}


@dataclass(slots=True)
class ItemRun:
    """Consecutive plain items in ``data[start:end]``, which ends with the last end tag."""

    name: str  # of the items
    items: list[Entry | Child]
    values: tuple[str, ...]  # names of the elements in them
    data: bytes
    start: int
    end: int

    @property
    def line_ends(self) -> int:
        """The number of line ends in the run."""
        return self.data.count(b"\n", self.start, self.end)

    def lines(self, first: int) -> list[int]:
        """The line where each item begins; the run begins on the line ``first``."""
        gaps = self.data[self.start : self.end].split(f"<{self.name}>".encode())[:-1]
        return list(accumulate((gap.count(b"\n") for gap in gaps), initial=first))[1:]


def read_run(name: str, data: bytes, start: int, end: int) -> ItemRun | None:
    """The plain ``url`` or ``sitemap`` elements at the start of ``data[start:end]``, or None if there are none."""
    # One byte is one character here: an item with non-ASCII bytes is never plain.
    text = str(memoryview(data)[start:end], "latin-1")
    parts = _PATTERNS[name].split(text)
    width = 6 if name == "url" else 4
    locs, dates, rest = parts[1::width], parts[2::width], parts[-2] or ""
    end = start + len(text) - len(rest)
    if rest:
        del locs[-1], dates[-1]
    if not locs or ("\r" in text and _LONE_RETURN.search(text, 0, end - start)):
        return None  # a lone carriage return is a line end for the parser
    if "&" in text:
        locs = "\n".join(locs).replace("&apos;", "'").replace("&amp;", "&").split("\n")
    if max(map(len, locs)) > limits.MAX_LOC:
        return None
    values = ["loc"]
    if any(dates):
        values.append("lastmod")
        if None in dates:
            dates = [date or "" for date in dates]
    else:
        dates = [""] * len(locs)
    if name == "sitemap":
        return ItemRun(name, list(map(Child, locs, dates)), tuple(values), data, start, end)
    words, numbers = parts[3::width], parts[4::width]
    if not any(words) and not any(numbers):
        return ItemRun(name, list(map(Entry, locs, dates)), tuple(values), data, start, end)
    values += [value for value, texts in (("changefreq", words), ("priority", numbers)) if any(texts)]
    freqs = [word or "" for word in words]
    priorities = [None if number is None else PRIORITIES[number] for number in numbers]
    return ItemRun(name, list(map(Entry, locs, dates, freqs, priorities)), tuple(values), data, start, end)


class LineIndex:
    """The lines where items begin. The lines of a run are counted on first use."""

    def __init__(self) -> None:
        self._known: list[int] = []  # 0: the item is in a run
        self._runs: list[tuple[int, ItemRun, int]] = []  # index of the first item, the run, its first line
        self.append = self._known.append  # adds the line of the next item

    def add_run(self, run: ItemRun, first: int) -> None:
        """Add a run that begins on the line ``first``."""
        self._runs.append((len(self._known), run, first))
        self._known.extend([0] * len(run.items))

    def of(self, index: int) -> int:
        """The line of an item, from 1. IndexError if there is no such item."""
        if line := self._known[index]:
            return line
        index %= len(self._known)
        begin, run, first = next(entry for entry in reversed(self._runs) if entry[0] <= index)
        self._known[begin : begin + len(run.items)] = run.lines(first)
        return self._known[index]
