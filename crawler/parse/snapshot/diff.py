"""Finds the blocks that a page lost and gained between two visits, and puts them in words. Pure.

``lastmod`` decides which of them matter.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from functools import lru_cache
from itertools import islice, pairwise
from operator import itemgetter
from typing import Final
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from crawler.model import Url
from crawler.parse.html.text import one_line
from crawler.parse.snapshot.blocks import (
    ContentBlock,
    PageVersion,
    blocks_of,
    parse_blocks,
    parse_changed_blocks,
    stable_hash,
    statement_place,
)
from crawler.parse.snapshot.text import Memo, dates_in, has_fingerprint, has_price, is_asset, mask_variable_text
from crawler.url.normalize import InvalidUrl, join_url

MAX_DIFFERENCES = 200
MAX_TEXT = 120
MAX_SAMPLED_CHARACTERS = 60_000
BEHIND_ALIKE = 32
"""Flag of a difference: the neighbour ``after`` which it stands is at its place."""
BEFORE_ALIKE = 64
"""Flag of a difference: the neighbour ``ahead`` is at its place."""
MIN_MOVED_TEXT = 25
"""Characters from which on the position of a text matters: not of a label, a tag or a figure."""
MAX_EVIDENCE: Final = 3
"""Changes that are named for a page."""
_MIN_PART: Final = 16  # characters of a text that repeats a part of another; a shorter one may be in it by chance
MAX_FIGURES = 8
"""Numbers of a text that are compared one by one."""
MAX_BARE = 4
"""Characters up to which a shape is only comparable with one at the same place."""
_number: Final = re.compile(r"[0-9]{1,15}(?:,[0-9]{3})*(?:\.[0-9]{1,15})*").finditer
_word: Final = re.compile(r"[0-9](?:[0-9.,]*[0-9])?(?![^\W_])|\w+|[^\w\s]").findall
_thousands: Final = re.compile(r"(?<=[0-9])[.,](?=[0-9]{3}(?:[^0-9]|\Z))").sub
_is_title: Final = re.compile(rb"\x1f(?:title|h1)(?: [^\x1f]*)?\Z").search
_is_heading: Final = re.compile(rb"\x1f(?:title|h[1-6])(?: [^\x1f]*)?\Z").search
MAX_NEWS: Final = 64
"""Words of a difference that are kept."""
_SHAPE_OF_FIGURE: Final = 0x1234_5678
REPEATED: Final = 1
"""The key of words that the other version has fewer times, or in other letters, large for small."""
_SHAPE: Final = 0x5A5A_5A5A_5A5A_5A5A  # keeps the key of a shape apart from that of an equal text
_WORD_MASK: Final = (1 << 64) - 1
_GOLDEN: Final = 0x9E37_79B9_7F4A_7C15  # spreads small numbers
FRAME = 1
"""Flag of a difference: it is in an element around the content (nav, the footer of the body)."""
FACT = 2
"""Flag of a difference: a price or an availability stated as data."""
LINK = 4
"""Flag of a difference: it is a link or a picture and nothing else."""
MOVED = 16
"""Flag of a difference: the page lost and gained the text, which moved among the others of its place."""
FINGERPRINT = 8
"""Flag of a difference: it has the URL of an asset whose fingerprint does not count."""
DATED = 128
"""Flag of a difference: it has a day or a year beside the name of a month."""
NEWS = 256
"""Flag of a difference: it is a link that came, to a page that is new on the site. :func:`with_news` sets it."""
MONEY = 512
"""Flag of a difference: it shows a price."""
HEADING = 2048
"""Flag of a difference: it is a link to its page that repeats a heading which both versions have, as a menu does."""
LABELLED = 1024
"""Flag of a difference: it is a link behind a label, such as "Next:" or "Author:"."""
MAX_TARGETS: Final = 4
"""Targets of a link and its pictures that a difference keeps."""


class Difference(Struct, frozen=True, array_like=True):
    """One block that a page lost (``gone``) or gained. Its keys are 64-bit hashes, from coarse to fine.

    ``place`` is its containers, ``spot`` the place under its heading, ``shape`` the text without figures, ``exact`` the
    text with its links. ``after`` and ``ahead`` are its nearest unchanged neighbours, each as a text at a place (0 at
    an end of the page). ``among`` is the number of blocks of this page at the same spot. ``nth`` is the place with its
    number among the blocks there, and ``nth_last`` the same, counted from the last one. ``box`` is the part of the
    place from the innermost container with a class or id, which may stand in several templates, and ``unit`` the box
    without the element that gives the text its role. ``size`` is the number of characters of the whole text.
    ``figures`` are the first numbers in it, each behind the hashes of the word before it and of the word after it.
    ``targets`` are those of a link that has a text, as written in the page. ``words`` is the text without its links.
    ``beside`` are the places of the unchanged neighbours. ``news`` are the keys of the words, signs and parts of
    targets that the other version has fewer times in what differs, up to ``MAX_NEWS``, and ``named`` those of them that
    the titles of the page have, too.
    """

    gone: bool
    place: int
    spot: int
    shape: int
    exact: int
    after: int
    ahead: int
    among: int
    flags: int
    text: str
    nth: int = 0
    nth_last: int = 0
    box: int = 0
    size: int = 0
    unit: int = 0
    figures: tuple[tuple[int, int, float], ...] = ()
    targets: tuple[str, ...] = ()
    words: int = 0
    beside: tuple[int, ...] = ()
    news: tuple[int, ...] = ()
    named: tuple[int, ...] = ()

    @property
    def is_alone(self) -> bool:
        """Whether its place has no other text on the page."""
        return self.nth == nth_key(self.place, 0) and self.nth_last == nth_key(self.place, -1)


class Delta(Struct, frozen=True, array_like=True):
    """The differences between two visits of a page. ``more``: there are more than the list holds.

    ``known`` is False when one of the two snapshots is empty or unreadable; then there are no differences.
    """

    differences: list[Difference] = []
    more: bool = False
    known: bool = True
    blocks: int = 0


def compare(before: bytes, after: bytes) -> Delta:
    """Compare two snapshots as multisets of blocks. Never raises.

    Of equal blocks, those in unchanged parts of the page count as the ones that stayed, then those that are far from
    other changes, then the first ones. A text
    that only moved to another container is no difference; one that moved among those of its container is lost and
    gained, with the flag ``MOVED``. Not so a link: lists shift theirs.
    """
    if before == after:
        return Delta(known=bool(before))
    versions = parse_changed_blocks(before, after)
    if versions is None or not all(any(map(blocks_of, version.entries)) for version in versions):
        return Delta(known=False)
    in_old, in_new = (Counter([block.compared_text for block in version.differing]) for version in versions)
    moved = _moved(versions[0].differing, versions[1].differing)
    in_lost = _changed(versions[0], _surplus(in_old, in_new), moved)
    in_gained = _changed(versions[1], _surplus(in_new, in_old), moved)
    lost = _differences(versions[0], in_lost, moved, True)
    gained = _differences(versions[1], in_gained, moved, False)
    lost, gained = ([*_with_headings(d, b, versions[1], in_gained)] for d, b in ((lost, in_lost), (gained, in_gained)))
    named = {*_words_of_titles(versions[1], in_gained)}
    lost, gained = _with_news(lost, in_lost, in_gained, named), _with_news(gained, in_gained, in_lost, named)
    if _letters_anew(lost, in_lost) == _letters_anew(gained, in_gained):  # these texts are divided anew
        lost, gained = ([d for d in side if d.news or d.flags & MOVED] for side in (lost, gained))
    # a price that only came, or only left, is a text as others are
    sums = [Counter(value for d in side if d.flags & MONEY for *_, value in d.figures) for side in (lost, gained)]
    if not all(sums) or sums[0] == sums[1] or _states_same_price(versions[1], in_lost, in_gained):
        lost, gained = ([replace(d, flags=d.flags & ~MONEY) for d in side] for side in (lost, gained))
    listed = lost[: max(MAX_DIFFERENCES // 2, MAX_DIFFERENCES - len(gained))]
    listed += gained[: MAX_DIFFERENCES - len(listed)]
    more = len(listed) < len(lost) + len(gained)
    return Delta(listed, more=more, blocks=_count(versions[1], len(in_gained)))


def joined(one: Delta, other: Delta) -> Delta:
    """What differs in two comparisons with the same version of a page, each difference once."""
    known = {(d.gone, d.place, d.exact) for d in one.differences}
    more = [d for d in other.differences if (d.gone, d.place, d.exact) not in known]
    return Delta(one.differences + more, one.more or other.more, one.known and other.known)


def with_news(delta: Delta, url: Url, new_pages: Collection[str], gone_pages: Collection[str] = ()) -> Delta:
    """The differences of the page ``url``, with the flag ``NEWS`` at links that say so of other pages.

    They came to one of the ``new_pages``, or left one of the ``gone_pages``. A link elsewhere repeats no heading.
    """
    if not any(d.targets for d in delta.differences):
        return delta
    found = (_with_announced(d, url, gone_pages if d.gone else new_pages) for d in delta.differences)
    return replace(delta, differences=list(found))


def _with_announced(d: Difference, url: Url, pages: Collection[str]) -> Difference:
    flags = d.flags
    if flags & HEADING and any(_join(url, target.partition("#")[0]) != url for target in d.targets):
        flags &= ~HEADING
    if pages and any(_join(url, target) in pages for target in d.targets):
        flags |= NEWS
    return d if flags == d.flags else replace(d, flags=flags)


def _join(url: Url, target: str) -> str:
    try:
        return join_url(url, target)
    except InvalidUrl:
        return ""


def content_keys(snapshot: bytes) -> list[int]:
    """The distinct keys of a page: its texts, shapes, spots, places and positions, and its texts at their places.

    Only the first ``MAX_SAMPLED_CHARACTERS`` of the markup count.
    """
    keys: set[int] = set()
    at: Counter[int] = Counter()
    for block in parse_blocks(snapshot, MAX_SAMPLED_CHARACTERS) or ():
        block_keys = exact, _, _, place = _block_keys(block)
        keys.update(block_keys)
        keys.add(text_at_place_key(exact, place))
        keys.add(_box_key(block.box))
        keys.add(nth_key(place, at[place]))
        at[place] += 1
    keys.update(nth_key(place, n - count) for place, count in at.items() for n in range(count))
    return list(keys)


def _states_same_price(version: PageVersion, lost: dict[int, ContentBlock], gained: dict[int, ContentBlock]) -> bool:
    """Whether a page states prices as data, and the same ones as before: then other prices on it are not its own."""
    if any(block.is_fact for changed in (lost, gained) for block in changed.values()):
        return False
    return any(isinstance(entry, ContentBlock) and entry.is_fact for entry in version.entries)


def _words_of_titles(version: PageVersion, changed: Container[int]) -> Iterator[str]:
    """The words of the titles that both versions have: templates repeat them."""
    for block in _kept_at(version, changed, _is_title):
        yield from (word for word, _ in _own_words(block))


def _kept_at(
    version: PageVersion, changed: Container[int], is_there: Callable[[bytes], object]
) -> Iterator[ContentBlock]:
    """The blocks at these places that both versions have."""
    for at, entry in enumerate(version.entries):
        if at not in changed and is_there(entry.place if isinstance(entry, ContentBlock) else entry[1]):
            yield from blocks_of(entry)


def _with_headings(
    differences: list[Difference], changed: dict[int, ContentBlock], version: PageVersion, in_gained: Container[int]
) -> Iterator[Difference]:
    """The differences, those of these blocks flagged that are links which repeat a heading."""
    headings = {block.text for block in _kept_at(version, in_gained, _is_heading)} if differences else set()
    for d, block in zip(differences, changed.values(), strict=False):
        is_one = d.targets and block.text in headings and not _is_heading(block.place)
        yield replace(d, flags=d.flags | HEADING) if is_one else d


def _with_news(
    differences: list[Difference], changed: dict[int, ContentBlock], other: dict[int, ContentBlock], named: set[str]
) -> list[Difference]:
    """The differences with the words that these blocks have, and the ``other`` ones have not."""
    words = [_own_words(block) for block in changed.values()]
    others = Counter(word for block in other.values() for word, _ in _own_words(block))
    counts = Counter(word for found in words for word, _ in found)
    more = {word for word, count in counts.items() if count > others[word]}
    result = []
    for d, found in zip(differences, words, strict=False):
        own = [(word, key) for word, key in found if word in more and word not in others]
        news = dict.fromkeys(key for word, key in own if word[0].isalnum()) or dict.fromkeys(key for _, key in own)
        if not news and (len(changed) == len(other) or more.intersection(word for word, _ in found)):
            news = {REPEATED: None}
        in_titles = {key for word, key in own if word in named}
        kept = tuple(news)[:MAX_NEWS]
        result.append(replace(d, news=kept, named=tuple(key for key in kept if key in in_titles)))
    return result


def _letters_anew(differences: list[Difference], changed: dict[int, ContentBlock]) -> Counter[str]:
    """The letters of the blocks that say nothing new."""
    pairs = zip(differences, changed.values(), strict=False)
    return Counter("".join("".join(b.compared_text.split()) for d, b in pairs if not (d.news or d.flags & MOVED)))


def _own_words(block: ContentBlock) -> list[tuple[str, int]]:
    """The words and signs of a text, each with its key; that of a figure is the word before it, or the place."""
    found = []
    before = ""
    for word in _word(block.compared_text.casefold()):
        if any(map(str.isdigit, word)):
            found.append((_thousands("", word), crc32(_to_bytes(before) or block.place) ^ _SHAPE_OF_FIGURE))
        else:
            found.append((word, crc32(_to_bytes(word))))
            before = word if word.isalpha() else before
    return found


def _surplus(counts: Counter[str], other: Counter[str]) -> dict[str, int]:
    """The texts that occur more often than in the other version, and how much more often."""
    return {text: count - other[text] for text, count in counts.items() if count > other.get(text, 0)}


def _moved(old: list[ContentBlock], new: list[ContentBlock]) -> set[str]:
    """The texts that moved among those of their container: as few as explain the new order."""
    moved: set[str] = set()
    at = {
        text: (container, number)
        for container, texts in _unique_texts(new).items()
        for number, text in enumerate(texts)
    }
    for texts in _unique_texts(old).values():
        # the container that has most of these texts: builds may rename it
        homes = Counter(at[text][0] for text in texts if text in at).most_common(1)
        common = [text for text in texts if text in at and at[text][0] == homes[0][0]]
        order = [at[text][1] for text in common]
        if any(n > m for n, m in pairwise(order)):
            stayed = set(_longest_increasing(order))
            moved.update(text for text, number in zip(common, order, strict=True) if number not in stayed)
    return moved


def _unique_texts(blocks: list[ContentBlock]) -> dict[bytes, list[str]]:
    """The texts that occur once, in order, by container, without those that may move without meaning."""
    count = Counter([block.compared_text for block in blocks])
    texts: dict[bytes, list[str]] = {}
    for block in blocks:
        is_free = block.is_link or block.is_frame or len(block.text) < MIN_MOVED_TEXT or block.place[:1] == b"="
        if not is_free and count[block.compared_text] == 1:
            texts.setdefault(_container(block), []).append(block.compared_text)
    return texts


def _longest_increasing(numbers: list[int]) -> list[int]:
    """A longest increasing subsequence of distinct numbers."""
    ends: list[int] = []  # the lowest end of a subsequence of each length
    before: dict[int, int | None] = {}
    for number in numbers:
        at = bisect_left(ends, number)
        before[number] = ends[at - 1] if at else None
        ends[at : at + 1] = [number]
    chain: list[int] = []
    number_or_none = ends[-1] if ends else None
    while number_or_none is not None:
        chain.append(number_or_none)
        number_or_none = before[number_or_none]
    return chain


def _changed(version: PageVersion, surplus: dict[str, int], moved: set[str]) -> dict[int, ContentBlock]:
    """The blocks in surplus and those that moved, by index, in document order.

    Of equal blocks, those that are nearest to blocks of which no equal one stayed, then the last ones.
    """
    found: dict[str, list[int]] = {}
    for at in version.own if surplus or moved else ():
        (block,) = blocks_of(version.entries[at])
        if surplus.get(block.compared_text) or block.compared_text in moved:
            found.setdefault(block.compared_text, []).append(at)
    chosen = sorted(
        at for text, places in found.items() if text in moved or len(places) == surplus[text] for at in places
    )
    far = len(version.entries)
    whole = [-far, *chosen, 2 * far]

    def rank(at: int) -> tuple[int, int]:
        near = bisect_left(whole, at)
        return min(at - whole[near - 1], whole[near] - at), -at

    for text, places in found.items():
        if text not in moved and len(places) > surplus[text]:
            chosen += sorted(places, key=rank)[: surplus[text]]
    return {at: blocks_of(version.entries[at])[0] for at in sorted(chosen)}


def _container(block: ContentBlock) -> bytes:
    return block.place.partition(b"\x1f")[0]


def _differences(
    version: PageVersion, changed: dict[int, ContentBlock], moved: set[str], gone: bool
) -> list[Difference]:
    """The changed blocks as differences: one more than a delta lists, at most."""
    among, nth, count = _positions(version, changed)
    differences: list[Difference] = []
    following = -1
    for at, block in islice(changed.items(), MAX_DIFFERENCES + 1):
        if at > following:
            _, behind = _unchanged_neighbour(version, changed, at, -1)
            following, before = _unchanged_neighbour(version, changed, at, 1)
        numbers = nth[at], nth[at] - count[block.place]
        flags = MOVED if block.compared_text in moved else 0
        flags |= BEHIND_ALIKE * (behind is not None and behind.place == block.place)
        flags |= BEFORE_ALIKE * (before is not None and before.place == block.place)
        after, ahead = (_key_at_place(near) if near else 0 for near in (behind, before))
        beside = tuple(_place_keys(near.place, near.spot)[1] for near in (behind, before) if near)
        difference = _difference(block, gone, after, ahead, among[block.place, block.spot], numbers, flags)
        differences.append(replace(difference, beside=beside))
    return differences


def _positions(
    version: PageVersion, changed: dict[int, ContentBlock]
) -> tuple[Counter[tuple[bytes, str]], dict[int, int], Counter[bytes]]:
    """How many blocks are at each spot and at each place of the changed ones, and the number of these among them."""
    places = {block.place for block in changed.values()}
    texts = places | {place.rpartition(b"\x1f")[0] for place in places}  # of which such a block may be a part
    is_stated = any(place.startswith(b"=") for place in places)  # the tags in any text may state the same
    among: Counter[tuple[bytes, str]] = Counter()
    nth: dict[int, int] = {}
    count: Counter[bytes] = Counter()
    for at, entry in enumerate(version.entries):
        if not isinstance(entry, ContentBlock) and not (
            entry[0].place + entry[1] in texts or (is_stated and "<" in entry[2])
        ):
            continue
        for block in blocks_of(entry):
            if block.place in places:
                among[block.place, block.spot] += 1
                nth[at] = count[block.place]
                count[block.place] += 1
    return among, nth, count


def _unchanged_neighbour(
    version: PageVersion, changed: Container[int], at: int, step: int
) -> tuple[int, ContentBlock | None]:
    """The nearest unchanged block in one direction, with the index of its entry."""
    at += step
    while 0 <= at < len(version.entries):
        if at not in changed and (blocks := blocks_of(version.entries[at])):
            return at, blocks[0 if step > 0 else -1]
        at += step
    return at, None


def _count(version: PageVersion, gained: int) -> int:
    """The number of blocks outside of the frame; of texts, if few blocks are new."""
    own = [e for e in version.entries if not (e if isinstance(e, ContentBlock) else e[0]).is_frame]
    return len(own) if 2 * gained < len(own) else sum(len(blocks_of(entry)) for entry in own)


def _difference(  # noqa: PLR0913 - the fields of a difference
    block: ContentBlock, gone: bool, after: int, ahead: int, among: int, numbers: tuple[int, int], flags: int = 0
) -> Difference:
    exact, shape, spot, place = _block_keys(block)
    flags |= FRAME * block.is_frame | FACT * block.is_fact | LINK * block.is_link | LABELLED * block.is_labelled
    if has_fingerprint(block.compared_text):
        flags |= FINGERPRINT
    flags |= DATED * (next(dates_in(block.text), None) is not None)
    is_price = has_price(block.text) or (b"price" in block.box and any(map(str.isdigit, block.text)))
    flags |= MONEY * (is_price and not block.is_link)  # what a link states is of another page
    text = one_line(block.text, MAX_TEXT)
    nth, nth_last = (nth_key(place, number) for number in numbers)
    unit = block.box.partition(b"\x1f")[0]
    keys = gone, place, spot, shape, exact, after, ahead, among
    words, *targets = block.compared_text.split("\x1f")
    return Difference(
        *keys,
        flags,
        text,
        nth,
        nth_last,
        _box_key(block.box),
        len(block.text),
        _box_key(unit),
        _figures(block.text),
        tuple(targets[:MAX_TARGETS]) if block.is_link and words and not is_asset(targets[0]) else (),
        _TEXT_KEYS[words][0] if targets and words else exact,
    )


def _figures(text: str) -> tuple[tuple[int, int, float], ...]:
    found = []
    dates = [date.span() for date in dates_in(text)]
    for number in islice(_number(text), MAX_FIGURES):
        value = float(number[0].replace(",", "")) if number[0].count(".") < 2 else 0.0
        if any(begin <= number.start() < end for begin, end in dates):
            found.append((0, 0, value))  # the figures of a date are no counter beside the name of the month
            continue
        before = "".join(text[: number.start()].rsplit(None, 1)[-1:])
        after = "".join(text[number.end() :].split(None, 1)[:1])
        found.append((_word_key(before, b"before"), _word_key(after, b"after"), value))
    return tuple(found)


def _word_key(word: str, side: bytes) -> int:
    return stable_hash(_to_bytes(word), side) if any(map(str.isalpha, word)) else 0


def stated_name(difference: Difference) -> str:
    """The name of a statement, such as "JSON-LD.offers.price" or "og:title"; "" for a text that the page shows."""
    name, separator, _ = difference.text.partition(": ")
    _, place = _place_keys(statement_place(name), "")
    return name if separator and difference.place == place else ""


def _key_at_place(block: ContentBlock) -> int:
    exact, _, _, place = _block_keys(block)
    return text_at_place_key(exact, place)


def text_at_place_key(exact: int, place: int) -> int:
    """The key of a text, given by its own key, at a place."""
    return ((exact * 3 + place) & _WORD_MASK) - (_WORD_MASK >> 1)


def nth_key(place: int, number: int) -> int:
    """The key of a position at a place. ``number`` counts from 0, or from -1 backwards."""
    return ((place + (number * 2 + 1) * _GOLDEN) & _WORD_MASK) - (_WORD_MASK >> 1)


def _block_keys(block: ContentBlock) -> tuple[int, int, int, int]:
    """The keys of the exact text, its shape, its spot and its place."""
    exact, shape, bare = _TEXT_KEYS[block.compared_text]
    spot, place = _place_keys(block.place, block.spot)
    return exact, shape or stable_hash(block.place, _to_bytes(bare), b"shape"), spot, place


def _text_keys(text: str) -> tuple[int, int, str]:
    """The exact key, and the key of the shape, or 0 and the shape itself when it is short."""
    shape = mask_variable_text(text.replace("*", "0"))
    exact = stable_hash(_to_bytes(text))
    if len(shape) <= MAX_BARE:
        return exact, 0, shape
    return exact, (exact if shape == text else stable_hash(_to_bytes(shape))) ^ _SHAPE, ""


_TEXT_KEYS: Final = Memo(_text_keys)


@lru_cache(maxsize=8_192)
def _place_keys(place: bytes, spot: str) -> tuple[int, int]:
    return stable_hash(place, _to_bytes(spot), b"spot"), stable_hash(place, b"place")


@lru_cache(maxsize=8_192)
def _box_key(box: bytes) -> int:
    return stable_hash(box, b"box")


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def evidence_text(differences: Iterable[Difference]) -> str:
    """The first changes of a page and the number of the others: ``- Price: 20; + Price: 25; 2 more``.

    "-" precedes a text that left the page, "+" one that came, and "~" one whose link, picture or end changed.
    """
    texts = list(_change_texts(order_differences(differences)))
    more = f"; {len(texts) - MAX_EVIDENCE:,} more" if len(texts) > MAX_EVIDENCE else ""
    return "; ".join(texts[:MAX_EVIDENCE]) + more


def discounted_text(discounted: Iterable[tuple[Difference, str]]) -> str:
    """What differs and is no change: for the most frequent reasons one text and the number of the others."""
    known = list(discounted)
    counts = Counter(reason for _, reason in known)
    examples = {reason: _in_whole_words(difference.text) for difference, reason in reversed(known)}
    return "; ".join(
        f'"{examples[reason]}"{f" and {count - 1:,} more" if count > 1 else ""}: {reason}'
        for reason, count in counts.most_common(MAX_EVIDENCE)
    )


def order_differences(differences: Iterable[Difference]) -> list[Difference]:
    """The differences in the order in which people want to read them.

    Visible texts come before links and pictures; prices and availability that are stated as data before other
    statements, and JSON-LD last. Texts stay in the order of the page, each followed by the one that replaced it.
    """
    places: dict[int, int] = {}
    counts: dict[tuple[int, bool], int] = {}
    keyed = []
    for number, difference in enumerate(differences):
        place = places.setdefault(difference.place, len(places))
        nth = counts[place, difference.gone] = counts.get((place, difference.gone), 0) + 1
        keyed.append(((_rank(difference), place, nth, not difference.gone, number), difference))
    return [difference for _, difference in sorted(keyed, key=itemgetter(0))]


def _rank(difference: Difference) -> int:
    name = stated_name(difference)
    if not name:
        return 1 if difference.flags & LINK else 0
    if difference.flags & FACT:
        return 2
    return 4 if name.startswith("JSON-LD") else 3


def _change_texts(differences: list[Difference]) -> Iterator[str]:
    """Each change once: structured data often repeats a text of the page, and a heading the title."""
    lost, came = ({d.text for d in differences if d.gone is gone} for gone in (True, False))
    names = [stated_name(difference) for difference in differences]
    named: dict[str, list[str]] = {"-": [], "+": [], "~": []}
    for name, difference in zip(names, differences, strict=True):
        text = difference.text
        sign = "~" if text in lost & came else "-" if difference.gone else "+"
        is_blurred = sign == "~" and name and "" in names  # data that changed beyond what is known of it
        if text and not is_blurred and not _is_repeated(name, text, named[sign]):
            named[sign].append(text)
            yield f"{sign} {_in_whole_words(text)}"


def _in_whole_words(text: str) -> str:
    """A text for people: one that was cut ends with its last whole word."""
    return f"{text.rpartition(' ')[0] or text} …" if len(text) >= MAX_TEXT else text


def _is_repeated(name: str, text: str, named: list[str]) -> bool:
    """Whether a text only repeats another one or a part of it, or is data (``name``) in which that one begins."""
    if not name:
        return text in named or (len(text) >= _MIN_PART and any(text in other for other in named))
    value = text[len(name) + 2 :]
    if len(value) < _MIN_PART:
        return any(map(re.compile(rf"(?<!\w){re.escape(value)}(?!\w)").search, named))
    return any(value in other or (len(other) >= _MIN_PART and other[:_MIN_PART] in value) for other in named)
