"""Own text: which pages lost what only they say, or gained what many pages say now. Pure.

A login, a maintenance page, an empty template or a firewall that nobody has named yet give many URLs the same document,
perhaps with the page's own title. Its words are new on the page and the same on many pages. So a page is compared with
itself and with the others: runs of three words (shingles, Broder 1997, https://doi.org/10.1109/SEQUEN.1997.666900) that
many of the compared pages share belong to the site; the rest is the page's own. A redesign, new prices, or another
language change the own text of many pages, but each page keeps about as much of it.

The message of an error, a warning, or a notice also comes to many pages at once, above or below their own text. It may
name the page, so the address of a page does not count in its texts.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from crawler.parse.snapshot.blocks import parse_blocks
from crawler.parse.snapshot.diff import FRAME, MOVED, Delta

SHINGLE: Final = 3
"""Words of a shingle."""
MAX_CHARACTERS: Final = 200_000
"""Characters of markup that are compared of a page."""
MIN_KEPT: Final = 0.5
"""A page that keeps less than this share of its own text has lost it."""
MAX_KEPT: Final = 0.8
"""One that keeps less than this share has lost it too, when the rest is drowned: ..."""
MIN_DENSITY: Final = 0.5
"""... the share of the page that is its own fell below this share of what it was, ..."""
MAX_NEW: Final = 0.05
"""... or it says nothing new: at most this share of its own text is new, so that it is cut off."""
MIN_REWRITTEN: Final = 20
"""New shingles of its own from which on a page is a shorter page, not an empty one, ..."""
MIN_REWRITTEN_SHARE: Final = 0.5
"""... when they are at least this share of all that it says now: so the good page that follows a bad one is no loss."""
MIN_SHARED: Final = 0.5
"""Share of a new page that the pages without own text have in common, from which on it is one of them."""
MIN_REPEATED: Final = 0.5
"""Share of what a page gained that other pages gained too, from which on it gained nothing of its own."""
MIN_ADDRESS: Final = 4
"""Characters of a path from which on it hardly occurs in a text by chance."""

_words = re.compile(r"\w+").findall


def shingles(snapshot: bytes, url: str = "") -> frozenset[int]:
    """The shingles of the texts of a page outside its frame (nav, footer), as hashes of this process.

    The path of ``url``, its last segment and the query do not count where a text names them.
    """
    blocks = parse_blocks(snapshot, MAX_CHARACTERS) or ()
    return _shingles((block.text for block in blocks if not block.is_frame), url)


def _shingles(texts: Iterable[str], url: str) -> frozenset[int]:
    words = [word for text in texts for word in _words(text.casefold())]
    for address in _addresses(url):
        words = f" {' '.join(words)} ".replace(f" {address} ", " ").split()
    return frozenset(hash(tuple(words[at : at + SHINGLE])) for at in range(max(1, len(words) - SHINGLE + 1)) if words)


def _addresses(url: str) -> list[str]:
    """The words by which a text may name the page at a URL, the longest first."""
    parts = urlsplit(url)
    path = unquote(parts.path)
    named = (f"{path}?{parts.query}", path, path.rstrip("/").rpartition("/")[2])
    found = {" ".join(_words(name.casefold())) for name in named if len(name) >= MIN_ADDRESS}
    return sorted(found, key=len, reverse=True)


class ChangedPage(NamedTuple):
    """A page with what its last visit lost and gained, None if that is unknown. ``is_dated``: its lastmod moves."""

    url: str
    delta: Delta | None
    is_dated: bool


def count_doubtful(pages: Sequence[ChangedPage], many: int, most: float) -> tuple[int, int]:
    """How many pages may have lost their own text, and how many may have gained little else than others, at most.

    A page that gained about as much text of its own as it lost has not lost it. That is told by the differences, so
    the texts of pages are read only when many pages are in doubt. ``many`` and ``most`` are the pages from which on
    what they share belongs to the site.
    """
    gone: Counter[int] = Counter()
    came: Counter[int] = Counter()
    read = []
    for page in pages:
        own = [d for d in page.delta.differences if not d.flags & (FRAME | MOVED)] if page.delta else []
        texts = [(d.size, _shingles([d.text], page.url)) for d in own if not d.gone]
        left = {d.exact: d.size for d in own if d.gone}
        read.append((page, left, texts))
        gone.update(left.keys())
        came.update({shingle for _, shingles in texts for shingle in shingles})
    lost = repeated = 0
    for page, left, texts in read:
        is_unknown = page.delta is None or page.delta.more or not page.delta.known
        gained = sum(size * sum(came[each] < many for each in found) / max(1, len(found)) for size, found in texts)
        lost += is_unknown or gained < MAX_KEPT * sum(size for key, size in left.items() if gone[key] < many)
        new = frozenset().union(*(found for _, found in texts))
        is_alike = sum(came[each] >= most for each in new) >= MIN_REPEATED * len(new)
        repeated += page.is_dated and (is_unknown or is_alike)
    return lost, repeated


class OwnText:
    """What pages share before and now. ``versions`` are the shingles of pages at their last good visit, and now.

    A shingle that at least ``many`` of the pages have belongs to the site.
    """

    def __init__(self, versions: Iterable[tuple[frozenset[int], frozenset[int]]], many: int) -> None:
        before: Counter[int] = Counter()
        now: Counter[int] = Counter()
        for then, here in versions:
            before.update(then)
            now.update(here)
        self._shared_before = frozenset(shingle for shingle, pages in before.items() if pages >= many)
        self._shared_now = frozenset(shingle for shingle, pages in now.items() if pages >= many)
        self._came = self._shared_now - self._shared_before

    def is_lost(self, before: frozenset[int], now: frozenset[int]) -> bool:
        """Whether a page lost its own text."""
        kept = before - self._shared_before  # still its own, even if other pages say it now
        own_before, own_now = len(kept), len(now - (self._shared_now - kept))
        new = len(now - self._shared_now - before)
        if own_now < MIN_KEPT * own_before:
            return new < max(MIN_REWRITTEN, MIN_REWRITTEN_SHARE * len(now))
        if own_now > MAX_KEPT * own_before:
            return False
        density_before, density_now = own_before / max(1, len(before)), own_now / max(1, len(now))
        return density_now < MIN_DENSITY * density_before or new <= MAX_NEW * own_now

    def is_like_them(self, page: frozenset[int]) -> bool:
        """Whether a page that had little text of its own, such as a new one, mostly says what the others now share."""
        return bool(page) and len(page & self._came) >= MIN_SHARED * len(page)

    def is_same(self, before: frozenset[int], now: frozenset[int]) -> bool:
        """Whether a page says at another URL what it said before."""
        own = before - self._shared_before or before
        return len(own & now) >= MIN_KEPT * len(own)


class GainedText:
    """What at least ``many`` pages, or half of them, gained at once. ``versions`` are their shingles before and now."""

    def __init__(self, versions: Iterable[tuple[frozenset[int], frozenset[int]]], many: float) -> None:
        changed = [(now - before, before - now) for before, now in versions]
        most = max(2, min(many, len(changed) / 2))
        self._gained, self._lost = (
            frozenset(each for each, count in Counter(chain.from_iterable(side)).items() if count >= most)
            for side in ([gained for gained, _ in changed], [lost for _, lost in changed])
        )

    def is_repeated(self, before: frozenset[int], now: frozenset[int]) -> bool:
        """Whether a page gained little else than these pages.

        Not so if it took the place of what these pages had in common, too: a page and the lists that quote it say the
        same. That is at least a third as long: a notice between words of the template parts a few of them.
        """
        gained, lost = now - before, before - now
        beside = SHINGLE - 1  # a text has so many more shingles than words: those with the words around it
        is_quoted = len(gained) - beside <= 3 * (len(lost & self._lost) - beside)
        return bool(gained) and len(gained & self._gained) >= MIN_REPEATED * len(gained) and not is_quoted
