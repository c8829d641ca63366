"""Reads what differs between two versions of a page, for its history. Pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from crawler.parse.snapshot.details import body_start, count_words, words_in
from crawler.parse.snapshot.text import common_prefix

_naming_tag = re.compile(r"</?(?:h1|meta)\b", re.IGNORECASE).search
_any_tag = re.compile(r"<[^<>]*+>").search


class Edit(NamedTuple):
    """What differs between two versions of a page: words in their bodies, and whether the headline may differ.

    ``before`` and ``after`` are counted from the last tag before a difference to the first one behind it: to count a
    page takes as long as to unpack it five times.
    """

    before: int
    after: int
    has_headline: bool


def read_edit(old: str, new: str) -> Edit:
    """What differs between two versions of a page, from the markup of their snapshots."""
    alike = common_prefix(old, new)
    start = next((tag.end() for tag in _tags_before(old, alike)), 0)
    rest = common_prefix(old[start:][::-1], new[start:][::-1])
    tag = _any_tag(old, len(old) - rest)
    rest = len(old) - tag.start() if tag else 0
    before, after = old[start : len(old) - rest], new[start : len(new) - rest]
    is_in_heading = _last_of(("<h1", "<H1"), old, start) > _last_of(("</h1", "</H1"), old, start)
    has_headline = is_in_heading or any(_naming_tag(part) for part in (before, after))
    bodies = [(body_start(markup), len(markup) - rest) for markup in (old, new)]
    if len({(begin >= start, begin >= end) for begin, end in bodies}) > 1:  # one of the bodies has what is alike
        return Edit(count_words(old), count_words(new), has_headline)
    (begin, end), (new_begin, new_end) = bodies
    words = words_in(old[max(start, begin) : end]), words_in(new[max(start, new_begin) : new_end])
    return Edit(*words, has_headline)


def _last_of(names: tuple[str, ...], markup: str, end: int) -> int:
    return max(markup.rfind(name, 0, end) for name in names)


def _tags_before(markup: str, end: int) -> Iterator[re.Match[str]]:
    """The tags that end before a place, the last one first."""
    while (end := markup.rfind(">", 0, end)) >= 0:
        if found := _any_tag(markup, max(0, markup.rfind("<", 0, end)), end + 1):
            yield found
