"""A page of a real site as a tree that can be edited, with tokens where noises write their values at each request."""

import re
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field

import lxml.html
from lxml.html import HtmlElement

TOKEN = re.compile(r"Zq(\d+)([vboe])qZ")  # a value; or the begin of, the end of, and a boundary in a list to be sorted
MARK = "data-trial"  # on elements that a noise brought; nobody sees it
_MAIN = (
    ".//*[contains(concat(' ', @class, ' '), ' entry-content ')]",
    ".//article[contains(@class, 'product_page')]",
    ".//main",
    ".//article",
    ".//*[@id='content_inner' or @id='content']",
    ".//*[@role='document' or @role='main']",
)
_NO_TEXT = {"script", "style", "pre", "code", "svg", "select", "option", "button", "form", "nav", "noscript"}


def token(number: int, role: str = "v") -> str:
    """What stands in a page where noise ``number`` writes."""
    return f"Zq{number}{role}qZ"


@dataclass
class TextNode:
    """A text of an element, or behind it."""

    element: HtmlElement
    is_tail: bool

    @property
    def text(self) -> str:
        return (self.element.tail if self.is_tail else self.element.text) or ""

    @text.setter
    def text(self, value: str) -> None:
        if self.is_tail:
            self.element.tail = value
        else:
            self.element.text = value


@dataclass
class Page:
    """One page. ``template`` names what it was made from; ``common`` are paragraphs that other pages show too."""

    path: str
    template: str
    html: str
    common: Set[str] = frozenset()
    _tree: HtmlElement | None = field(default=None, repr=False)
    _source: str | None = field(default=None, repr=False)
    _main: HtmlElement | None = field(default=None, repr=False)

    @property
    def tree(self) -> HtmlElement:
        """The tree, to be changed: say so with :meth:`changed`."""
        if self._tree is None:
            self._tree = lxml.html.document_fromstring(self.html)
        return self._tree

    def changed(self) -> None:
        self._source = None

    @property
    def source(self) -> str:
        """The HTML with tokens."""
        if self._source is None:
            text = lxml.html.tostring(self.tree, encoding="unicode", doctype="<!DOCTYPE html>")
            self._source = re.sub(f' {MARK}="(once)?"', "", text)
        return self._source

    @property
    def main(self) -> HtmlElement:
        """The element that holds what the page is about."""
        if self._main is None:
            found = [each for path in _MAIN for each in self.tree.xpath(path)[:1]]
            self._main = found[0] if found else self.tree.find("body")
        return self._main

    @property
    def head(self) -> HtmlElement:
        return self.tree.find("head")

    def own(self, *tags: str) -> list[HtmlElement]:
        """The elements of these names in the main content that no noise brought and no navigation holds."""
        return [each for each in self.main.iter(*tags) if not self._is_foreign(each)]

    def texts(self, words: int = 1, tags: frozenset[str] = frozenset()) -> list[TextNode]:
        """The texts in the main content of at least so many words, in elements of these names if there are any."""
        return [node for node in self._nodes() if len(node.text.split()) >= words and (not tags or _home(node) in tags)]

    def _nodes(self) -> Iterator[TextNode]:
        for element in self.main.iter():
            if not isinstance(element.tag, str) or self._is_foreign(element):
                continue
            if element.tag not in _NO_TEXT and not TOKEN.search(element.text or ""):
                yield TextNode(element, False)
            is_inside = element is not self.main and element.getparent().tag not in _NO_TEXT
            if is_inside and not TOKEN.search(element.tail or ""):
                yield TextNode(element, True)

    def _is_foreign(self, element: HtmlElement) -> bool:
        while element is not None and element is not self.main:
            if element.tag in {"nav", "aside", "form"} or MARK in element.attrib:
                return True
            element = element.getparent()
        return False


def _home(node: TextNode) -> str:
    return str(node.element.getparent().tag if node.is_tail else node.element.tag)


def fill(source: str, value: Callable[[int], str], order: Callable[[int, list[str]], list[str]]) -> str:
    """The HTML that a visitor gets: values for tokens, and lists in the order of the moment."""
    while (begin := re.search(r"Zq(\d+)bqZ", source)) is not None:
        number = begin[1]
        end = source.index(f"Zq{number}eqZ", begin.end())
        items = source[begin.end() : end].split(f"Zq{number}oqZ")
        source = source[: begin.start()] + "".join(order(int(number), items)) + source[end + len(f"Zq{number}eqZ") :]
    return TOKEN.sub(lambda found: value(int(found[1])) if found[2] == "v" else "", source)
