"""Owns the road from elements to items: which element begins what, and where an item ends. Does no parsing itself."""

from collections.abc import Callable
from typing import Any, Final

from sitemap import namespaces
from sitemap.finding import FindingCollector
from sitemap.formats import FEEDS, Format
from sitemap.model import Child, Entry
from sitemap.reader import items
from sitemap.reader.extensions import add_part, append_value
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

_LONG_VALUES: Final = frozenset({"title", "summary", "description", "content"})  # cut instead of dropped


class StopParsing(Exception):
    """Raised in a handler to end the parse; the finding is already taken down."""


class ElementHandlers:
    """The handlers of an expat parser. Complete items gather in ``items``; whoever drives the parser takes them."""

    def __init__(self, base_url: str, findings: FindingCollector, max_depth: int, max_text: int) -> None:
        self.items: list[Entry | Child] = []
        self.lines = LineIndex()  # of the items
        self.format: Format | None = None
        self.good = 0  # byte index of the end tag of the last item
        self.good_open: tuple[str, ...] = ()  # what was open around it, outermost first
        self.around: tuple[str, ...] = ()  # what was open around the first item that began
        self.parser: Any = None
        self.seen: Callable[[int, int], bytes] = lambda _, __: (
            b""
        )  # what the parser read, by its byte indexes
        self.first_line = 1  # the document's line that is the parser's line 1
        self._findings = findings
        self._max_depth = max_depth
        self._max_text = max_text
        self._scopes = NamespaceScopes(base_url, self._say)
        self._parts = PartReader(max_text, self._part, self._check_depth, self._part_done)
        self._places = ValueLines()
        self._texts: dict[str, str] = {}  # qualified name to key, of the present kind of item's plain values
        self._item_name = ""
        self._kind = ""  # the local name of items
        self._feed = False
        self._retired: set[str] = set()
        self.reset(())

    def reset(self, open_names: tuple[str, ...]) -> None:
        """Begin again inside the given open elements, as after the end of an item."""
        self.open = open_names  # outside of items, outermost first
        self._depth = len(open_names)
        self._item_depth = 0  # of what is open around the item
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
        """The line of the document that is being read."""
        line: int = self.first_line + self.parser.CurrentLineNumber - 1
        return line

    @property
    def inside(self) -> tuple[str, ...]:
        """What is open, outermost first; in an element that is skipped it is not known to the end."""
        item = (self._item_name,) if self._in_item else ()
        return (*self.open, *item, *self._parts.inside, *filter(None, [self._wanted]))

    def plain_item(self) -> str:
        """The name of the items that may be read as a run here, "" where only the parser knows what comes."""
        if self._in_item or not self.open or self._depth + 2 > self._max_depth:
            return ""
        name = "url" if self.format is Format.URLSET else "sitemap" if self.format is Format.INDEX else ""
        return name if self._scopes.default == namespaces.SITEMAP else ""

    def take_run(self, run: ItemRun, line: int, good: int) -> None:
        """Items that were read past the parser, from this line on, as if it had read them up to ``good``."""
        if run.name != self._item_name:
            self._start_item(run.name, {})
            self._in_item = False
        self._texts.update({name: name for name in run.values})
        self.lines.add_run(run, line)
        self.items += run.items
        self.mark(good)

    def mark(self, good: int) -> bool:
        """All up to this byte is read for good. False, and it is not, inside an item."""
        if not self._in_item:
            self.good, self.good_open = good, self.open
        return not self._in_item

    def bound(self) -> None:
        """Forget what is too much of a value that has not ended; to be called after each piece."""
        if self._wanted:
            cut_texts(self._text, self._max_text + 1)
        elif self._in_item:
            self._parts.bound()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """A start tag. The two commonest cases, a value and an item, are decided first."""
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
        """An end tag."""
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
        """A value that is long, repeated, or in several pieces."""
        key = self._key
        if key in self._fields:
            if not self._feed:
                self._say_of("sitemap.repeated", f"{key} occurs more than once: keep one", key, -1)
        elif len(text) <= self._max_text or key in _LONG_VALUES:
            self._fields[key] = text[: self._max_text]
        else:
            said = f"{key} has more than {self._max_text:,} characters: no value needs so many"
            self._say_of("sitemap.value_too_long", said, key, -1)

    def _start_other(self, name: str, attributes: dict[str, str]) -> None:
        """Everything but a plain value or item: roots, channels, extensions, and whatever has attributes."""
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
                self._say("sitemap.unknown_element", f"{name[:64]!r} stands inside {self._wanted[:64]!r}")
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
            self._say("sitemap.mixed", f"a {self.format} holds a {kind} element")
        self.around = self.around or self.open
        self._fields = {"about": attributes.get("rdf:about", "")} if self.format is Format.RSS1 else {}
        self._item_line, self._item_at = self.line, self.parser.CurrentByteIndex
        self._item_depth = self._depth - 1
        self._in_item = True

    def _start_around(self, name: str) -> None:
        """What is around items is gone through, whatever it is."""
        family, local = self._scopes.resolve(name)
        inside = self._scopes.resolve(self.open[-1])[1] if self.open else ""
        if not self._feed and family in STRICT and local not in ROOTS and inside in ROOTS:
            self._say("sitemap.unknown_element", f"{name[:64]!r} is no element of a {self.format}")
        self.open = (*self.open, name)

    def _start_inner(self, name: str, attributes: dict[str, str]) -> None:
        """An element inside an item that is not known yet, or has attributes, or elements."""
        family, local = named = self._scopes.resolve(name)
        if local == "link" and family in {XHTML, ATOM}:
            append_value(self._fields, "links", (attributes, self.line), self._say)
        elif named in TEXTS[self._kind]:
            self._key = self._texts[name] = TEXTS[self._kind][named]
            if attributes and self._feed:
                self._fields.setdefault(self._key + "@", attributes)
            self._wanted = name
            self._text = []
            self.parser.CharacterDataHandler = self._text.append
        elif named in PARTS[self._kind] or (family == MEDIA and local in MEDIA_PARTS and self._feed):
            if not family and not self._feed:
                self._say("sitemap.unknown_element", f"{name!r} lacks its prefix {local}:")
            self._parts.begin(self.parser, self._depth, Part(family, local, attributes, self.line))
        else:
            if not self._feed:
                self._fields.setdefault("other", True)
                if family in STRICT:
                    self._say("sitemap.unknown_element", f"a {self._kind} has no element {name[:64]!r}")
            self._parts.begin(self.parser, self._depth, None)

    def _part(self, depth: int, name: str, attributes: dict[str, str]) -> Part:
        """An element inside a part."""
        if attributes and self._scopes.enter(depth, attributes):
            self._texts.clear()
        family, local = self._scopes.resolve(name)
        return Part(family, local, attributes, self.line)

    def _part_done(self, part: Part | None, cut: bool) -> None:
        """The end of a part of an item, or of an element that was skipped."""
        self._depth -= 1
        if cut and part is not None:
            said = f"{part.local} holds more than {MAX_PARTS:,} elements: none needs so many"
            self._say("sitemap.value_too_long", said, part.line)
        if part is not None and self._feed:
            append_value(self._fields, "parts", part, self._say)
        elif part is not None:
            add_part(self._fields, part, self._scopes.base, self._say)
        if self._scopes.depth > self._depth:
            self._leave()

    def _root_format(self, name: str) -> Format:
        local, uri = self._scopes.root(name)
        found = root_format(name, local, uri, self._say)
        if found is None:
            raise StopParsing
        self._feed = found in FEEDS
        return found

    def _finish(self) -> None:
        """The end of an item."""
        item: Entry | Child | None
        if self._kind == "url":
            item = items.build_entry(self._fields, self._scopes.base, self._say, self._say_of)
        elif self._kind == "sitemap":
            item = items.build_child(self._fields, self._scopes.base, self._say_of)
        else:
            atom = self._kind == "entry"
            item = read_feed_entry(self._fields, self._scopes.base, self._say, self._say_of, atom=atom)
        if item is not None:
            self.items.append(item)
            self.lines.append(self._item_line)

    def _check_depth(self, depth: int) -> None:
        if depth > self._max_depth:
            self._say("sitemap.too_deep", f"elements are nested more than {self._max_depth} deep")
            raise StopParsing

    def _say_of(self, rule: str, sentence: str, key: str, which: int = 0) -> None:
        """Take down a finding of a value, the first or the last (-1) of its key, or "" of the item as a whole."""
        line = self._item_line
        if self._findings.has_room(rule) and (key in self._fields or which):
            item = self.seen(self._item_at, self.parser.CurrentByteIndex)
            line += self._places.below(item, key, self._texts, which)
        self._say(rule, sentence, line)

    def _say(self, rule: str, sentence: str, line: int = 0) -> None:
        if rule == "retired.tag":  # once for each tag
            if sentence in self._retired:
                return
            self._retired.add(sentence)
        self._findings.add(rule, line or self.line, sentence)
