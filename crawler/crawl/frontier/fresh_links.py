"""Copies with fresh links: pages that are equal but for ids in their URLs, and whose links have new ids on each page.

An id is a segment of a path, a parameter of a segment (``b`` in ``/a;b``) or a value of a query that only the page with
the link has had in a link. The *mask* of a URL has ``*`` for its ids: the pages ``/7f3a/news`` and ``/91bc/news`` have
the mask ``/*/news``. Its *shape* has ``~`` for all else: ``/*/~``. A space is the URLs of one shape.

A page is a *copy* if a page before it has the same text, pictures and links, apart from ids, and as many new links, all
with ids, none with an id of the page itself (as links within a language have). Figures may differ under one mask and
title, as those of a clock. A *variant* has the mask, title and links of a page before it and half of its words, as with
another advertisement: it counts as a copy of its mask, and not in the row.

A space is endless when ``evidence`` copies in a row were read, three of which led to new URLs. Its other URLs then
wait, except the first of a mask of which nothing was read. Pure.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec import Struct, field

from crawler.crawl.frontier.cache import Recent
from crawler.model import Lease, Url
from crawler.url.normalize import origin_of

COPY_PREFIX: Final = "trap.copies: "
"""The start of the reason of a URL that is left out because it belongs to a space of copies."""
_MIN_LEADING: Final = 3  # so many ids must be seen, and so many copies lead to new URLs
_MIN_SHOWN: Final = 6  # characters of an id that is shown in the text
_MIN_OWN: Final = 4  # characters of an id that links of its page contain
_MAX_MASKS: Final = 20_000
_MANY: Final = -1  # in place of the id of a page: several pages led to a token
_MANY_IDS: Final = 40
_VARIANT_SHARE: Final = 0.5  # of the words of two pages, so many are the same

_pieces = re.compile("([/;?&=])").split  # a semicolon delimits a parameter of a segment (RFC 3986 3.3)
_parts = re.compile(r"[A-Za-z0-9]++").findall
_runs = re.compile(r"([\w~-]++)").split
_run = re.compile(r"[\w~-]++").match
_is_run = re.compile(r"[\w~-]++").fullmatch
_DIGITS: Final = b"0123456789"
_OF_RUNS: Final = bytes(byte for byte in range(256) if byte >= 0x80 or chr(byte).isalnum() or chr(byte) in "_~-")
"""The bytes that may be in a run."""
_pictures = re.compile(r"(<img\b[^>]*+>?)", re.IGNORECASE).split
_count = re.compile(r"(?<![0-9])[0-9]{1,7}(?![0-9])").sub

_Links = tuple[int, int, int]
"""The links of a page: a digest and the number of those that are not new, and the number of new ones."""
_Menu = tuple[str, int]
"""The shape of a page, and the number of its new links."""


class Content(NamedTuple):
    """What is compared of a page. ``text`` gives its text and pictures; ``title`` is None if it is not known."""

    text: Callable[[], str]
    links: list[Url]
    title: str | None = None


class _UrlForm(NamedTuple):
    """A URL whose fresh tokens are known."""

    shape: str
    mask: str
    fresh: tuple[str, ...]


_WITHOUT_IDS: Final = _UrlForm("", "", ())

_Members = dict[str, list[tuple[int, Url, int]]]
"""Depth, URL and id of equal pages, by the id of the first one."""


class _Mask(Struct):
    """The number of pages of one mask that were copies, of which some are variants, and of the others."""

    copies: int = 0
    variants: int = 0
    others: int = 0


class FreshSpace(Struct):
    """URLs of one shape that may be copies without end. ``reason`` is why a URL of the space is left out."""

    shape: str
    reason: str = ""
    row: int = 0  # copies since the last page that was neither a copy nor a variant
    news: int = 0  # such pages
    leading: set[int] = field(default_factory=set)  # ids of copies that led to new URLs, a few
    forms: list[set[str]] = field(default_factory=list)  # of the ids, a few of each
    masks: dict[str, _Mask] = field(default_factory=dict)
    awaited: dict[str, Url] = field(default_factory=dict)  # by mask: the URL that is visited because none was read
    members: _Members = field(default_factory=dict)
    variants: _Members = field(default_factory=dict)
    is_endless: bool = False

    def note_ids(self, ids: Iterable[str]) -> None:
        """Note the ids of a URL. Those that only count, as the days of a calendar, are left to the templates."""
        for place, value in enumerate(ids):
            if place == len(self.forms):
                self.forms.append(set())
            if len(self.forms[place]) < _MIN_LEADING:
                self.forms[place].add(_count("#", value))

    def note(self, mask: str, *, is_copy: bool, is_variant: bool) -> None:
        """Count a page of a mask."""
        if not is_variant:
            self.row = self.row + 1 if is_copy else 0
            self.news += not is_copy
        if mask not in self.masks and len(self.masks) == _MAX_MASKS:
            return
        counts = self.masks.setdefault(mask, _Mask())
        counts.copies += is_copy or is_variant
        counts.variants += is_variant
        counts.others += not (is_copy or is_variant)

    def counts(self, mask: str) -> tuple[int, int]:
        """The number of pages of a mask that are copies, and of the others."""
        found = self.masks.get(mask, _Mask())
        return found.copies, found.others

    def equal_pages(self) -> Iterator[_Members]:
        """The pages that were read of which one each is enough."""
        yield self.members
        if self.is_endless:
            yield self.variants


class _Read(NamedTuple):
    """A page that was read. ``new_ids`` are those of its new links."""

    depth: int
    url: Url
    id: int
    form: _UrlForm
    new_ids: list[str]
    title: str | None


class FreshLinks:
    """Finds spaces of copies with fresh links. ``load`` gives the text and pictures of a page that was read, by its id.

    A text is compared in three steps, because most pages are no copies: only a page with the links of another one is
    looked at, and only one with the same characters between its words, too, is searched for ids.
    """

    def __init__(self, load: Callable[[int], str | None], evidence: int) -> None:
        self._load = load
        self._evidence = evidence
        self._first_pages: Recent[str, int] = Recent()  # by token: the id of the page that led to it, or _MANY
        self._firsts: Recent[_Links, _Read] = Recent()  # the first page with these links ...
        self._lookalikes: Recent[tuple[_Links, int], _Read] = Recent()  # ... and this form of its text
        self._equal: Recent[tuple[_Links, int, str], _Read] = Recent()  # by what is compared of a text
        self._first_of_mask: Recent[tuple[_Links, str, str | None], _Read] = Recent()  # by mask and title
        self._menus: Recent[int | None, _Menu] = Recent()  # the new links of pages that were no copies, by their ids
        self._rows: Recent[_Menu, int] = Recent()  # copies, in a row, among the pages that such links led to
        self.spaces: Recent[str, FreshSpace] = Recent()  # by shape

    def learn(self, page: int, url: Url) -> None:
        """Note that a page, by its id, leads to a new URL."""
        pieces, places = _split(url)
        for place in places:
            first = self._first_pages.use(pieces[place])
            if first is None:
                self._first_pages.keep(pieces[place], page)
            elif first not in (page, _MANY):
                self._first_pages.keep(pieces[place], _MANY)

    def read(self, lease: Lease, content: Content, new: list[Url]) -> FreshSpace | None:
        """Compare a page with those before it. Returns the space in which it is a copy.

        ``new`` are the URLs that it leads to first.
        """
        own = self._form(lease.url, lease.source)
        forms = [self._form(url, lease.id) for url in new]
        leads = bool(forms) and self._are_fresh(own, forms)
        if not own.fresh and not leads:
            return None
        space = self._space(own.shape)
        new_ids = [value for form in forms for value in form.fresh]
        page = _Read(lease.depth, lease.url, lease.id, own, new_ids, content.title)
        first = self._first_equal(page, content, new) if leads or not new else None
        variant_of = self._variant_of(page, content, new) if leads and own.fresh and first is None else None
        is_copy, is_variant = first is not None and bool(own.fresh), variant_of is not None
        if own.fresh:
            space.note(own.mask, is_copy=is_copy, is_variant=is_variant)
        if not is_variant and (menu := self._menus.use(lease.source)):
            self._rows.keep(menu, (self._rows.get(menu) or 0) + 1 if is_copy else 0)
        if leads and not is_copy and not is_variant:
            self._menus.keep(lease.id, (own.shape, len(forms)))
        if variant_of is not None:
            _add_member(space.variants, variant_of, page)
            return space
        if first is None or not is_copy:
            return None
        space.note_ids(own.fresh)
        space.reason = space.reason or (
            f"{COPY_PREFIX}pages such as {own.mask} are equal but for * in their URLs and in their links"
        )
        _add_member(space.members, first, page)
        if leads and len(space.leading) < _MIN_LEADING:
            space.leading.add(lease.id)
        return space

    def _form(self, url: Url, source: int | None) -> _UrlForm:
        """A URL that a page, by its id, leads to first."""
        pieces, places = _split(url)
        # A token that is forgotten has not been in a link for a long time: only the source led to it.
        fresh = [place for place in places if self._first_pages.get(pieces[place]) in (source, None)]
        if source is None or not fresh:
            return _WITHOUT_IDS
        shape, mask = list(pieces), list(pieces)
        for place in places:
            shape[place] = "~"
        for place in fresh:
            shape[place] = mask[place] = "*"
        return _UrlForm("".join(shape), "".join(mask), tuple(pieces[place] for place in fresh))

    def _are_fresh(self, own: _UrlForm, forms: list[_UrlForm]) -> bool:
        """Whether all new links of a page have ids, and none has an id of the page."""
        if not all(form.fresh for form in forms):
            return False
        ids = [value for value in own.fresh if len(value) >= _MIN_OWN]
        return not any(value in piece for value in ids for form in forms for piece in form.fresh)

    def _first_equal(self, page: _Read, content: Content, new: list[Url]) -> _Read | None:
        """The first page that this one is equal to; None, and it is remembered, when there is none."""
        links = _links(page.url, content.links, new)
        before = self._firsts.use(links)
        if before is None:
            self._firsts.keep(links, page)
            return None
        if before.id and (text := self._load(before.id)) is not None:
            self._first_with_text(before, links, text)
            self._firsts.keep(links, before._replace(id=0))  # its text is known
        return self._first_with_text(page, links, content.text())

    def _first_with_text(self, page: _Read, links: _Links, text: str) -> _Read | None:
        """The first page with these links and an equal text; None, and this one is remembered, when there is none."""
        form = (links, _text_form(text))
        before = self._lookalikes.use(form)
        if before is None:
            self._lookalikes.keep(form, page)
            return None
        if before.id and (first_text := self._load(before.id)) is not None:
            self._remember(links, before, _keys(first_text, before))
            self._lookalikes.keep(form, before._replace(id=0))  # its keys are known
        *keys, without_own = _keys(text, page)
        if len(self._space(page.form.shape).masks) > 1:
            keys.append(without_own)
        first = next((first for key in keys if (first := self._equal.use((links, *key)))), None)
        if first is None:
            self._remember(links, page, [*keys, without_own])
        return first

    def _variant_of(self, page: _Read, content: Content, new: list[Url]) -> _Read | None:
        """The first page that this one is a variant of; None, and it may be remembered, when there is none."""
        key = (_links(page.url, content.links, new), page.form.mask, content.title)
        first = self._first_of_mask.use(key)
        if first is None:
            self._first_of_mask.keep(key, page)
            return None
        masks = self._space(page.form.shape).masks
        mask = masks.get(page.form.mask)
        if len(masks) == 1 or (mask and mask.copies > 0 and mask.copies >= 2 * mask.variants):
            return None  # only a name in the URL tells which pages may be variants of each other
        text = self._load(first.id)
        return first if text is not None and _shares_words(text, content.text()) else None

    def _remember(self, links: _Links, page: _Read, keys: Iterable[tuple[int, str]]) -> None:
        for key in keys:
            self._equal.keep((links, *key), page)

    def _space(self, shape: str) -> FreshSpace:
        return self.spaces.use(shape) or self.spaces.keep(shape, FreshSpace(shape))

    def decide(self, space: FreshSpace, url: Url, source: int | None) -> bool:
        """Whether a space, or the mask of a URL in it, or the menu that led to the URL, is found to be endless now."""
        if space.is_endless:
            copies, others = space.counts(self._form(url, source).mask)
            menu = self._menus.get(source)
            return (copies == 1 and others > 0) or (menu is not None and self._rows.get(menu) == self._evidence)
        has_ids = all(len(forms) >= _MIN_LEADING for forms in space.forms)
        space.is_endless = space.row >= self._evidence and len(space.leading) >= _MIN_LEADING and has_ids
        return space.is_endless

    def is_fresh(self, url: Url, source: int | None) -> bool:
        """Whether an endless space has URLs of this shape, so that the page decides about the URL when it is read."""
        space = self.spaces.get(self._form(url, source).shape)
        return space is not None and space.is_endless

    def space_of(self, url: Url, source: int | None) -> FreshSpace | None:
        """The endless space that a URL belongs to, which a page, by its id, leads to first."""
        form = self._form(url, source)
        space = self.spaces.get(form.shape)
        if space is None or not space.is_endless:
            return None
        copies, others = space.counts(form.mask)
        if others > 1 and (menu := self._menus.get(source)):
            # nothing in the URL tells the pages of the mask, and those of this menu may be new
            return space if (self._rows.get(menu) or 0) >= self._evidence else None
        if not copies and not others and space.news and space.awaited.setdefault(form.mask, url) == url:
            return None
        return space if copies or not others else None


def _links(own: Url, links: list[Url], new: list[Url]) -> _Links:
    """What is compared of the links of a page. ``new`` are those that it leads to first."""
    others = frozenset({*links}.difference(new, [own]))
    return hash((origin_of(own), others)), len(others), len(new)


def _add_member(members: _Members, first: _Read, page: _Read) -> None:
    group = members.setdefault(f"{first.id}", [(first.depth, first.url, first.id)])
    group.append((page.depth, page.url, page.id))


def _shares_words(text: str, other: str) -> bool:
    """Whether two texts share at least half of their words."""
    words, others = {*text.split()}, {*other.split()}
    return len(words & others) >= _VARIANT_SHARE * max(len(words), len(others))


def _keys(text: str, page: _Read) -> list[tuple[int, str]]:
    """What is compared of a text: as it is, without the ids of its new links, and without its own ids and figures too.

    The last one keeps what pictures show, and is equal under one mask and one title only.
    """
    without_new, title = _without(text, page.new_ids), _without(page.title or "", page.form.fresh)
    parts = enumerate(_pictures(without_new))
    without_own = b"".join(_bytes(part) if n % 2 else _without_own(part, page) for n, part in parts)
    return [(hash(text), ""), (hash(without_new), ""), (hash(without_own), f"{page.form.mask} {title}")]


def _without_own(text: str, page: _Read) -> bytes:
    """A text without the page's own ids and without figures."""
    return _bytes(_without(text, page.form.fresh)).translate(None, _DIGITS)


def _bytes(text: str) -> bytes:
    """A text as bytes, whose single characters are deleted ten times as fast."""
    return text.encode("utf-8", "replace")


def _text_form(text: str) -> int:
    """A digest of the ASCII characters of a text that belong to no run: equal texts without ids have the same."""
    return hash(_bytes(text).translate(None, _OF_RUNS))


def _without(text: str, values: Iterable[str]) -> str:
    """A text without the runs that have one of these ids, which may be parts of their tokens, as in ``s-9F8A``."""
    ids = {part for value in values for part in (value, *_parts(value)) if len(part) >= _MIN_SHOWN and _is_run(part)}
    if len(ids) > _MANY_IDS:  # each of them would be searched for
        runs = _runs(text)
        runs[1::2] = ["" if _has_id(run, ids) else run for run in runs[1::2]]
        return "".join(runs)
    kept, end, backwards = [], 0, text[::-1]
    for start, after in sorted(span for part in ids for span in _runs_with(part, text, backwards)):
        if start >= end and _has_id(text[start:after], ids):
            kept.append(text[end:start])
            end = after
    return "".join([*kept, text[end:]])


def _runs_with(part: str, text: str, backwards: str) -> Iterator[tuple[int, int]]:
    """Start and end of each run that contains a part. Linear in the text, which comes ``backwards`` too."""
    at = text.find(part)
    while at >= 0:
        end = at + _run_length(text, at)
        yield at - _run_length(backwards, len(text) - at), end
        at = text.find(part, end)


def _run_length(text: str, at: int) -> int:
    """The number of characters of a run from one place on."""
    run = _run(text, at)
    return len(run[0]) if run else 0


def _has_id(run: str, ids: set[str]) -> bool:
    return run in ids or not ids.isdisjoint(_parts(run))


@lru_cache(maxsize=256)  # a new URL is looked at when it is found, and when its page and the page itself are read
def _split(url: Url) -> tuple[list[str], list[int]]:
    """A URL in pieces, and the places of its tokens among them. Names of parameters are none."""
    start = url.index("/", 8)
    pieces = [url[:start], *_pieces(url[start:])[1:]]
    end = len(pieces)
    places = [
        place
        for place in range(2, end, 2)
        if pieces[place] and not (pieces[place - 1] in "?&" and place + 1 < end and pieces[place + 1] == "=")
    ]
    return pieces, places
