"""Owns the meaning of elements: turns starts, ends and text into entries and children. Does no parsing itself."""

import contextlib
from typing import Any, Final
from urllib.parse import urljoin

from sitemap import namespaces, w3c
from sitemap.finding import Findings
from sitemap.format import Format
from sitemap.model import Alternate, Child, Entry, Image
from sitemap.reading import values
from sitemap.reading.item_parts import atom_link, rss_link, video
from sitemap.reading.vocabulary import (
    ATOM,
    IMAGE,
    ITEMS,
    RDF,
    ROOTS,
    TEXTS,
    VIDEO,
    XHTML,
    Names,
)

MAX_TEXT: Final = 65_536  # characters of one value
MAX_EXTENSIONS: Final = 10_000  # images, videos or alternates of one entry


class Stop(Exception):
    """Raised in a handler to end the parse; the finding is already taken down."""


class Elements:
    """The handlers of an expat parser. Complete items gather in ``items``; whoever drives the parser takes them."""

    def __init__(self, base_url: str, findings: Findings, max_depth: int) -> None:
        self.items: list[Entry | Child] = []
        self.format: Format | None = None
        self.good = 0  # byte index of the end tag of the last item
        self.good_open: tuple[str, ...] = ()  # what was open around it, outermost first
        self.around: tuple[str, ...] = ()  # what was open around the first item that began
        self.parser: Any = None
        self.first_line = 1  # the document's line that is the parser's line 1
        self._findings = findings
        self._max_depth = max_depth
        self._names = Names()
        self._bases = [(0, base_url)]
        self._texts: dict[str, str] = {}  # qualified name to key, of elements whose text is wanted
        self._item_name = ""
        self._namespace_said = False
        self.reset(())

    def reset(self, open_names: tuple[str, ...]) -> None:
        """Begin again inside the given open elements, as after the end of an item."""
        self._open = list(open_names)
        self._depth = len(open_names)
        self._fields: dict[str, Any] = {}
        self._outer: dict[str, Any] | None = None
        self._container = ""
        self._in_item = False
        self._wanted = ""
        self._text: list[str] = []
        del self._bases[1:]

    @property
    def line(self) -> int:
        """The line of the document that is being read."""
        return self.first_line + int(self.parser.CurrentLineNumber) - 1

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """A start tag. The two commonest cases, a value and an item, are decided first."""
        self._depth += 1
        if not attributes:
            if name in self._texts:
                self._capture(name)
                return
            if name == self._item_name and not self._in_item:
                self._fields = {}
                self._in_item = True
                return
        self._start_other(name, attributes)

    def end(self, name: str) -> None:
        """An end tag."""
        self._depth -= 1
        if name == self._wanted:
            text = self._text
            self.parser.CharacterDataHandler = None
            self._wanted = ""
            self._keep(self._texts[name], text[0] if len(text) == 1 else "".join(text))
        elif self._in_item and self._depth == len(self._open):
            self._in_item = False
            self._finish(name)
            self.good = self.parser.CurrentByteIndex
            self.good_open = tuple(self._open)
        elif name == self._container:
            self._close_container()
        elif self._open and self._depth < len(self._open):
            self._open.pop()
        if self._bases[-1][0] > self._depth:
            self._bases.pop()

    def _capture(self, name: str) -> None:
        self._wanted = name
        self._text = []
        self.parser.CharacterDataHandler = self._text.append

    def _keep(self, key: str, text: str) -> None:
        if len(text) > MAX_TEXT:
            self._findings.add(
                "sitemap.value_too_long", self.line, f"{key} has {len(text):,} characters, dropped"
            )
        elif key == "tag":
            tags = self._fields.setdefault("tags", [])
            if len(tags) < MAX_EXTENSIONS:
                tags.append(text.strip())
        else:
            self._fields.setdefault(key, text)

    def _start_other(self, name: str, attributes: dict[str, str]) -> None:
        """Everything but a plain value or item: roots, channels, extensions, and whatever has attributes."""
        if self._depth > self._max_depth:
            self._findings.add(
                "sitemap.too_deep", self.line, f"elements are nested more than {self._max_depth} deep"
            )
            raise Stop
        self._names.declare(attributes)
        if base := attributes.get("xml:base", ""):
            with contextlib.suppress(ValueError):
                self._bases.append((self._depth, urljoin(self._bases[-1][1], base.strip())))
        if self.format is None:
            self.format = self._root_format(name)
            if self._names.resolve(name)[1] not in ITEMS[self.format]:
                self._open.append(name)
                return
        family, local = self._names.resolve(name)
        if not self._in_item:
            if local in ITEMS[self.format] and family != RDF:
                self._item_name = name
                self.around = self.around or tuple(self._open)
                self._fields = (
                    {"about": attributes.get("rdf:about", "")} if self.format is Format.RSS1 else {}
                )
                self._in_item = True
            elif self._depth == len(self._open) + 1 and (local in ROOTS or local == "channel"):
                self._open.append(name)  # a channel, or a root inside a root
        elif (family, local) in TEXTS[self.format]:
            self._texts[name] = (
                local if not self._container or family else f"{self._container_family}:{local}"
            )
            self._capture(name)
            if attributes:
                self._fields.setdefault(local + "@", attributes)
        else:
            self._start_inner(name, family, local, attributes)

    def _root_format(self, name: str) -> Format:
        local, uri = self._names.root(name)
        found = ROOTS.get(local)
        if found is None:
            if local == "html":
                self._findings.add("sitemap.not_xml", self.line, "this is an HTML page, not a sitemap")
            else:
                self._findings.add(
                    "sitemap.root", self.line, f"the root element {name[:64]!r} is no sitemap's or feed's"
                )
            raise Stop
        if local in {"url", "sitemap"}:
            self._findings.add(
                "sitemap.root", self.line, f"the document begins with {local!r}, its root is missing"
            )
        elif (
            found in {Format.URLSET, Format.INDEX} and uri != namespaces.SITEMAP and not self._namespace_said
        ):
            self._namespace_said = True  # once, also when the document is begun again after a defect
            said = f"is {uri[:120]!r}" if uri else "is missing"
            self._findings.add(
                "sitemap.namespace", self.line, f"the namespace {said}, it must be {namespaces.SITEMAP}"
            )
        return found

    def _start_inner(self, name: str, family: str, local: str, attributes: dict[str, str]) -> None:
        """A structured element inside an item."""
        if local == "link" and family in {XHTML, ATOM}:
            links = self._fields.setdefault("links", [])
            if len(links) < MAX_EXTENSIONS:
                links.append({key.lower(): value.strip() for key, value in attributes.items()})
        elif not self._container and (family, local) in {
            (IMAGE, "image"),
            (VIDEO, "video"),
            (ATOM, "source"),
        }:
            self._container, self._container_family = name, family
            self._outer, self._fields = self._fields, {}

    def _close_container(self) -> None:
        inner, self._fields = self._fields, self._outer or {}
        self._outer, self._container = None, ""
        if self._container_family in {IMAGE, VIDEO}:
            kept = self._fields.setdefault(self._container_family + "s", [])
            if len(kept) < MAX_EXTENSIONS:
                kept.append(inner)

    def _finish(self, name: str) -> None:
        """The end of an item."""
        fields = self._fields
        if self.format is Format.ATOM:
            self._finish_feed(atom_link(fields), ("updated", "modified", "published", "issued"))
            return
        if self.format in {Format.RSS, Format.RSS1}:
            self._finish_feed(rss_link(fields), ("pubdate", "modified", "date"))
            return
        loc = self._url(fields.get("loc", ""))
        if not loc:
            return
        lastmod = fields.get("lastmod", "")
        if lastmod and not w3c.is_valid(lastmod):
            lastmod = self._said("lastmod.invalid", *values.lastmod(lastmod))
        if name.rpartition(":")[2].lower() == "sitemap":
            self.items.append(Child(loc, lastmod))
            if self.format is Format.URLSET:
                self._findings.add("sitemap.mixed", self.line, "a urlset holds a sitemap element")
            return
        if self.format is Format.INDEX:
            self._findings.add("sitemap.mixed", self.line, "a sitemapindex holds a url element")
        if len(fields) <= 2 and "loc" in fields and ("lastmod" in fields or len(fields) == 1):
            self.items.append(Entry(loc, lastmod))
        else:
            self.items.append(self._full_entry(loc, lastmod))

    def _finish_feed(self, link: str, dates: tuple[str, ...]) -> None:
        loc = self._url(link)
        if loc:
            stated = next((self._fields[name] for name in dates if self._fields.get(name, "").strip()), "")
            lastmod = values.lastmod(stated)[0]
            if stated and not lastmod:
                self._findings.add("lastmod.invalid", self.line, f"{stated.strip()[:64]!r} is no date")
            self.items.append(Entry(loc, lastmod))

    def _full_entry(self, loc: str, lastmod: str) -> Entry:
        fields = self._fields
        changefreq = (
            self._said("changefreq.invalid", *values.changefreq(fields["changefreq"]))
            if "changefreq" in fields
            else ""
        )
        priority = None
        if "priority" in fields:
            priority, sentence = values.priority(fields["priority"])
            self._said("priority.invalid", "", sentence)
        return Entry(
            loc,
            lastmod,
            changefreq,
            priority,
            tuple(
                Image(url) for image in fields.get("images", ()) if (url := self._url(image.get("loc", "")))
            ),
            tuple(video(stated) for stated in fields.get("videos", ())),
            tuple(
                Alternate(link["hreflang"], url)
                for link in fields.get("links", ())
                if link.get("rel", "").lower() == "alternate"
                and "hreflang" in link
                and (url := self._url(link.get("href", "")))
            ),
        )

    def _url(self, text: str) -> str:
        # The test spares nearly every URL the long way: absolute, printable ASCII, no blanks, not too long.
        if (
            text.startswith(("https://", "http://"))
            and text.isascii()
            and text.isprintable()
            and " " not in text
            and 12 <= len(text) < 2_048
        ):
            return text
        found, rule, sentence = values.url(text, self._bases[-1][1])
        self._said(rule, "", sentence)
        return found

    def _said(self, rule: str, value: str, sentence: str) -> str:
        if sentence:
            self._findings.add(rule, self.line, sentence)
        return value
