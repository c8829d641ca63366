"""Turns XML elements into items: the handlers that an expat parser calls, and the entries that they build."""

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from sitemap import dates, limits, namespaces
from sitemap.escape import quote_text
from sitemap.model import FEEDS, Child, Entry, Format
from sitemap.reader import values
from sitemap.reader.extensions import ReportFinding, ReportValue, add_part, append_value, read_alternates
from sitemap.reader.fast_path import ItemRun, LineIndex
from sitemap.reader.feeds import read_feed_entry
from sitemap.reader.parts import MAX_PARTS, Part, PartReader, ValueLines, cut_texts
from sitemap.reader.sniff import root_format
from sitemap.reader.xml_names import (
    ATOM,
    ITEMS,
    MEDIA,
    MEDIA_PARTS,
    PARTS,
    RDF,
    ROOTS,
    STRICT,
    TEXTS,
    XHTML,
    NamespaceScopes,
)
from sitemap.rules import FindingCollector

_ELEMENT_ORDER: Final = {"loc": 0, "lastmod": 1, "changefreq": 2, "priority": 3}
_LAST: Final = 4  # everything else, in any order
_SHORT_SEQUENCES: Final = frozenset({("loc",), ("loc", "lastmod")})
_HINTS: Final = (("changefreq",), ("priority",), ("changefreq", "priority"))
_HINTED_SEQUENCES: Final = frozenset({(*short, *hints) for short in _SHORT_SEQUENCES for hints in _HINTS})


def build_child(fields: dict[str, Any], base: str, report_value: ReportValue) -> Child | None:
    """A sitemap of an index, or None if it has no URL."""
    loc = _loc(fields, base, report_value)
    lastmod = _lastmod(fields, report_value)
    if tuple(fields) not in _SHORT_SEQUENCES:
        _check_order(fields, report_value)
    return Child(loc, lastmod) if loc else None


def build_entry(fields: dict[str, Any], base: str, report: ReportFinding, report_value: ReportValue) -> Entry | None:
    """An entry, or None if it has no URL. ``fields`` are in the order of the document."""
    order = tuple(fields)
    loc = fields.get("loc", "")
    if not values.is_plain(loc):
        loc = _loc(fields, base, report_value)
    lastmod = fields.get("lastmod", "")
    if not dates.is_valid_date(lastmod):
        lastmod = _lastmod(fields, report_value)
    if order in _SHORT_SEQUENCES:
        return Entry(loc, lastmod) if loc else None
    changefreq = _changefreq(fields, report_value)
    priority = _priority(fields, report_value)
    if order in _HINTED_SEQUENCES:
        return Entry(loc, lastmod, changefreq, priority) if loc else None
    _check_order(fields, report_value)
    variants = read_alternates(fields["links"], base, report) if "links" in fields else ()
    if not loc:
        return None
    return Entry(
        loc,
        lastmod,
        changefreq,
        priority,
        tuple(fields.get("image", ())),
        tuple(fields.get("video", ())),
        variants,
        fields.get("news"),
    )


def _loc(fields: dict[str, Any], base: str, report_value: ReportValue) -> str:
    loc, rule, sentence = values.parse_url(fields.get("loc", ""), base)
    if sentence:
        report_value(rule, sentence, "loc")
    return loc


def _lastmod(fields: dict[str, Any], report_value: ReportValue) -> str:
    if "lastmod" not in fields:
        return ""
    lastmod, rule, sentence = values.parse_lastmod(fields["lastmod"])
    if sentence:
        report_value(rule, sentence, "lastmod")
    return lastmod


def _changefreq(fields: dict[str, Any], report_value: ReportValue) -> str:
    text: str = fields.get("changefreq", "")
    if text in limits.CHANGE_FREQUENCIES or "changefreq" not in fields:
        return text
    word, sentence = values.parse_changefreq(text)
    if sentence:
        report_value("changefreq.invalid", sentence, "changefreq")
    return word


def _priority(fields: dict[str, Any], report_value: ReportValue) -> float | None:
    if "priority" not in fields:
        return None
    value, sentence = values.parse_priority(fields["priority"])
    if sentence:
        report_value("priority.invalid", sentence, "priority")
    return value


def _check_order(fields: dict[str, Any], report_value: ReportValue) -> None:
    if late := _first_late(tuple(fields)):
        report_value("sitemap.order", f"{late[0]} comes after {late[1]}: put it before", late[0])


@lru_cache(maxsize=1_024)
def _first_late(names: tuple[str, ...]) -> tuple[str, str] | None:
    """The first element that comes too late, and one that it must precede."""
    for previous, name in pairwise(names):
        if _ELEMENT_ORDER.get(name, _LAST) < _ELEMENT_ORDER.get(previous, _LAST):
            return name, {"links": "xhtml:link", "other": "an extension"}.get(previous, previous)
    return None


_LONG_VALUES: Final = frozenset({"title", "summary", "description", "content"})  # cut instead of dropped


class StopParsing(Exception):
    """Raised by a handler to end the parse, after it has added the finding."""


class ElementHandlers:
    """The handlers of an expat parser. They collect complete items in ``items``."""

    def __init__(self, base_url: str, findings: FindingCollector, max_depth: int, max_text: int) -> None:
        self.items: list[Entry | Child] = []
        self.lines = LineIndex()  # of the items
        self.format: Format | None = None
        self.good = 0  # byte index of the end tag of the last item
        self.good_open: tuple[str, ...] = ()  # the elements open around it, outermost first
        self.around: tuple[str, ...] = ()  # the elements open around the first item
        self.parser: Any = None
        self.parsed: Callable[[int, int], bytes] = lambda _, __: b""  # the bytes between two byte indexes of the parser
        self.first_line = 1  # the line of the document where the parser's line 1 is
        self._findings = findings
        self._max_depth = max_depth
        self._max_text = max_text
        self._scopes = NamespaceScopes(base_url, self._report)
        self._parts = PartReader(max_text, self._part, self._check_depth, self._part_done)
        self._places = ValueLines()
        self._texts: dict[str, str] = {}  # from qualified name to key, for plain values of the current kind of item
        self._item_name = ""
        self._kind = ""  # the local name of items
        self._feed = False
        self._retired: set[str] = set()
        self.reset(())

    def reset(self, open_names: tuple[str, ...]) -> None:
        """Start again inside these open elements, as after the end of an item."""
        self.open = open_names  # outside items, outermost first
        self._depth = len(open_names)
        self._item_depth = 0  # of the element around the item
        self._fields: dict[str, Any] = {}
        self._item_line = self._item_at = 0  # line and byte index of its start tag
        self._in_item = False
        self._wanted = ""
        self._key = ""
        self._text: list[str] = []
        self._parts.reset()
        self._leave()

    @property
    def line(self) -> int:
        """The current line of the document."""
        line: int = self.first_line + self.parser.CurrentLineNumber - 1
        return line

    @property
    def inside(self) -> tuple[str, ...]:
        """The open elements, outermost first; "" for those in a skipped element."""
        item = (self._item_name,) if self._in_item else ()
        return (*self.open, *item, *self._parts.inside, *filter(None, [self._wanted]))

    def plain_item(self) -> str:
        """The name of the items that may be read as a run here, or "" if only the parser can read on."""
        if self._in_item or not self.open or self._depth + 2 > self._max_depth:
            return ""
        name = "url" if self.format is Format.URLSET else "sitemap" if self.format is Format.INDEX else ""
        return name if self._scopes.default == namespaces.SITEMAP else ""

    def take_run(self, run: ItemRun, line: int, good: int) -> None:
        """Add items that were read without the parser, from this line on and up to the byte index ``good``."""
        if run.name != self._item_name:
            self._start_item(run.name, {})
            self._in_item = False
        self._texts.update({name: name for name in run.values})
        self.lines.add_run(run, line)
        self.items += run.items
        self.mark(good)

    def mark(self, good: int) -> bool:
        """Note that everything up to this byte index is read. Returns False and does nothing inside an item."""
        if not self._in_item:
            self.good, self.good_open = good, self.open
        return not self._in_item

    def bound(self) -> None:
        """Cut an unfinished value that is too long; call it after each piece."""
        if self._wanted:
            cut_texts(self._text, self._max_text + 1)
        elif self._in_item:
            self._parts.bound()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle a start tag. The two most common cases, a value and an item, come first."""
        self._depth += 1
        if not attributes:
            if self._in_item:
                key = self._texts.get(name)
                if key is not None:
                    self._key = key
                    self._wanted = name
                    self._text = []
                    self.parser.CharacterDataHandler = self._text.append
                    return
            elif name == self._item_name:
                self._fields = {}
                self._item_line, self._item_at = self.line, self.parser.CurrentByteIndex
                self._item_depth = self._depth - 1
                self._in_item = True
                return
        self._start_other(name, attributes)

    def end(self, name: str) -> None:
        """Handle an end tag."""
        self._depth -= 1
        if name == self._wanted:
            text, key = self._text, self._key
            self.parser.CharacterDataHandler = None
            self._wanted = ""
            if len(text) == 1 and key not in self._fields and len(text[0]) <= self._max_text:
                self._fields[key] = text[0]
            else:
                self._keep("".join(text))
        elif self._in_item:
            if self._depth == self._item_depth:
                self._in_item = False
                self._finish()
                self.good = self.parser.CurrentByteIndex
                self.good_open = self.open
        elif self._depth < len(self.open):
            self.open = self.open[:-1]
        if self._scopes.depth > self._depth:
            self._leave()

    def _leave(self) -> None:
        if self._scopes.leave(self._depth):
            self._texts.clear()

    def _keep(self, text: str) -> None:
        """Keep a value that is long, repeated, or in several pieces."""
        key = self._key
        if key in self._fields:
            if not self._feed:
                lost = (
                    f", so {quote_text(text)} is not read: give it an entry of its own"
                    if key == "loc"
                    else ": keep one"
                )
                self._report_value("sitemap.repeated", f"{key} occurs more than once{lost}", key, -1)
        elif len(text) <= self._max_text or key in _LONG_VALUES:
            self._fields[key] = text[: self._max_text]
        else:
            sentence = f"{key} has more than {self._max_text:,} characters: shorten it"
            self._report_value("sitemap.value_too_long", sentence, key, -1)

    def _start_other(self, name: str, attributes: dict[str, str]) -> None:
        """Handle all other start tags: roots, channels, extensions, and elements with attributes."""
        self._check_depth(self._depth)
        if attributes and self._scopes.enter(self._depth, attributes):
            self._texts.clear()
        if self.format is None:
            self.format = self._root_format(name)
            if not self._is_item(name):
                self.open = (*self.open, name)
                return
        if self._wanted:
            if not self._feed:
                self._report("sitemap.unknown_element", f"{name[:64]!r} is inside {self._wanted[:64]!r}")
        elif self._in_item:
            self._start_inner(name, attributes)
        elif self._is_item(name):
            self._start_item(name, attributes)
        else:
            self._start_around(name)

    def _is_item(self, name: str) -> bool:
        family, local = self._scopes.resolve(name)
        return self.format is not None and local in ITEMS[self.format] and family != RDF

    def _start_item(self, name: str, attributes: dict[str, str]) -> None:
        kind = self._scopes.resolve(name)[1]
        if kind != self._kind:
            self._texts.clear()
        self._item_name, self._kind = name, kind
        if self.format is (Format.INDEX if kind == "url" else Format.URLSET):
            self._report("sitemap.mixed", f"a {self.format} contains a {kind} element")
        self.around = self.around or self.open
        self._fields = {"about": attributes.get("rdf:about", "")} if self.format is Format.RSS1 else {}
        self._item_line, self._item_at = self.line, self.parser.CurrentByteIndex
        self._item_depth = self._depth - 1
        self._in_item = True

    def _start_around(self, name: str) -> None:
        """Handle the start tag of an element around items, of any name."""
        family, local = self._scopes.resolve(name)
        inside = self._scopes.resolve(self.open[-1])[1] if self.open else ""
        if not self._feed and family in STRICT and local not in ROOTS and inside in ROOTS:
            self._report("sitemap.unknown_element", f"{name[:64]!r} is not an element of a {self.format}")
        self.open = (*self.open, name)

    def _start_inner(self, name: str, attributes: dict[str, str]) -> None:
        """Handle an element inside an item that is not known yet, or has attributes or elements."""
        family, local = resolved = self._scopes.resolve(name)
        if local == "link" and family in {XHTML, ATOM}:
            append_value(self._fields, "links", (attributes, self.line), self._report)
        elif resolved in TEXTS[self._kind]:
            self._key = self._texts[name] = TEXTS[self._kind][resolved]
            if attributes and self._feed:
                self._fields.setdefault(self._key + "@", attributes)
            self._wanted = name
            self._text = []
            self.parser.CharacterDataHandler = self._text.append
        elif resolved in PARTS[self._kind] or (family == MEDIA and local in MEDIA_PARTS and self._feed):
            if not family and not self._feed:
                self._report("sitemap.unknown_element", f"{name!r} lacks its prefix {local}:")
            self._parts.begin(self.parser, self._depth, Part(family, local, attributes, self.line))
        else:
            if not self._feed:
                self._fields.setdefault("other", True)
                if family in STRICT:
                    self._report("sitemap.unknown_element", f"a {self._kind} has no element {name[:64]!r}")
            self._parts.begin(self.parser, self._depth, None)

    def _part(self, depth: int, name: str, attributes: dict[str, str]) -> Part:
        """Make the part of an element inside a part."""
        if attributes and self._scopes.enter(depth, attributes):
            self._texts.clear()
        family, local = self._scopes.resolve(name)
        return Part(family, local, attributes, self.line)

    def _part_done(self, part: Part | None, cut: bool) -> None:
        """Handle the end of a part of an item, or of a skipped element."""
        self._depth -= 1
        if cut and part is not None:
            sentence = f"{part.local} contains more than {MAX_PARTS:,} elements: remove some"
            self._report("sitemap.value_too_long", sentence, part.line)
        if part is not None and self._feed:
            append_value(self._fields, "parts", part, self._report)
        elif part is not None:
            add_part(self._fields, part, self._scopes.base, self._report)
        if self._scopes.depth > self._depth:
            self._leave()

    def _root_format(self, name: str) -> Format:
        local, uri = self._scopes.root(name)
        root = root_format(name, local, uri, self._report)
        if root is None:
            raise StopParsing
        self._feed = root in FEEDS
        return root

    def _finish(self) -> None:
        """Build the item that ended."""
        item: Entry | Child | None
        if self._kind == "url":
            item = build_entry(self._fields, self._scopes.base, self._report, self._report_value)
        elif self._kind == "sitemap":
            item = build_child(self._fields, self._scopes.base, self._report_value)
        else:
            atom = self._kind == "entry"
            item = read_feed_entry(self._fields, self._scopes.base, self._report, self._report_value, atom=atom)
        if item is not None:
            self.items.append(item)
            self.lines.append(self._item_line)

    def _check_depth(self, depth: int) -> None:
        if depth > self._max_depth:
            self._report("sitemap.too_deep", f"elements are nested more than {self._max_depth} deep")
            raise StopParsing

    def _report_value(self, rule: str, sentence: str, key: str, which: int = 0) -> None:
        """Add a finding about the first or last (-1) value of a key, or with "" about the item as a whole."""
        line = self._item_line
        if self._findings.has_room(rule) and (key in self._fields or which):
            item = self.parsed(self._item_at, self.parser.CurrentByteIndex)
            line += self._places.below(item, key, self._texts, which)
        self._report(rule, sentence, line)

    def _report(self, rule: str, sentence: str, line: int = 0) -> None:
        if rule == "retired.tag":  # report each tag once
            if sentence in self._retired:
                return
            self._retired.add(sentence)
        self._findings.add(rule, line or self.line, sentence)
