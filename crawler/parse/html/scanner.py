"""Fills an outline without building a tree: the linear reading of a document that the parser could not stand.

It follows the tokenization of https://html.spec.whatwg.org/#tokenization, and what little of tree construction decides
whether a tag counts: raw text, comments, templates, framesets, the end of the head. Where a short cut is needed it is
the one that finds less than a browser; only where the tree drops what was tokenized, as in SVG or MathML mixed with
``select`` or ``frameset``, may it find more. Each character is looked at a bounded number of times: every search either
moves on to what it found, or ends the scan because nothing is left.
"""

import re
from typing import Final

from crawler.parse.html.outline import ELEMENTS, MEDIA_OWNERS, Element, Outline, anchor_flags
from crawler.parse.html.text import decode_references, decode_text_references

_open = re.compile(r"<(?:(!--)|(!\[CDATA\[)|([!?]|/(?![A-Za-z]))|(/?)([A-Za-z][^\t\n\f\r />]*+))").search
_comment_end = re.compile(r"--!?>").search
_attribute = re.compile(
    r"[\t\n\f\r /]*+(?:(>)|([^\t\n\f\r />][^\t\n\f\r />=]*+)"
    r"(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:\"([^\"]*+)\"|'([^']*+)'|(?=>)|([^\t\n\f\r >\"'][^\t\n\f\r >]*+)))?)"
).match
_RAW: Final = {
    name: re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE | re.ASCII).search
    for name in ("script", "style", "xmp", "iframe", "noembed", "noframes", "textarea", "title")
}
_script_mark = re.compile(r"(<!--)|(-->)|<(/?)script(?=[\t\n\f\r />])", re.IGNORECASE | re.ASCII).search
_IN_HEAD: Final = ELEMENTS & {"base", "link", "meta", "script"} | {
    *("html", "head", "basefont", "bgsound", "title", "noscript", "noframes", "style", "template")
}
_is_breakout = re.compile(
    "b|big|blockquote|body|br|center|code|dd|div|dl|dt|em|embed|h[1-6]|head|hr|i|img|li|listing|menu|meta|nobr|ol|p|pre"
    "|ruby|s|small|span|strong|strike|su[bp]|table|tt|u|ul|var"
).fullmatch
_VISIBLE_TAGS: Final = frozenset(
    {"br", "img", "table", "li", "pre", "hr", "iframe", "textarea", "select", "button", "embed"}
)
_WHITESPACE: Final = " \t\n\f\r"
_FOREIGN_TAGS: Final = frozenset({"svg", "math"})
_INTEGRATION_TAGS: Final = frozenset(
    {"foreignobject", "desc", "title", "annotation-xml", "mi", "mo", "mn", "ms", "mtext"}
)


def scan_outline(body: bytes) -> Outline:
    """The outline of a document in UTF-8."""
    scanner = _Scanner(body.decode("utf-8", "replace"))
    scanner.run()
    return scanner.outline


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.is_closed = False
        self.outline = Outline()
        self.in_head = True
        self.is_after_head = False
        self.in_frameset = False
        self.may_be_frameset = True
        self.templates = 0
        self.noscripts = 0
        self.has_title = False
        self.islands: list[str] = []  # svg and math, and the elements in them that hold HTML again
        self.is_mixed = False  # HTML was seen within SVG or MathML: where it ends takes a tree to know
        self.owners: list[tuple[int, str]] = []

    def run(self) -> None:
        text = self.text
        while self.at < len(text):
            found = _open(text, self.at)
            if found is None:
                return
            if (self.in_head or self.may_be_frameset) and not self.templates:
                self._text(text[self.at : found.start()])
            self.at = found.end()
            if not (self._tag(found[5], bool(found[4])) if found[5] else self._skip(found)):
                return

    def _text(self, text: str) -> None:
        if text.strip(_WHITESPACE):
            self.in_head = False
            self.may_be_frameset = self.may_be_frameset and not text.replace("\x00", "").strip(_WHITESPACE)

    def _skip(self, found: re.Match[str]) -> bool:
        """Pass a comment, a CDATA section or a declaration. False when it has no end."""
        text, at = self.text, self.at
        if found[1]:
            for short in (">", "->"):
                if text.startswith(short, at):
                    self.at = at + len(short)
                    return True
            end = _comment_end(text, at)
            self.at = end.end() if end else len(text)
            return end is not None
        if found[2] and self.is_mixed:
            return False
        mark = "]]>" if found[2] and self._is_foreign() else ">"
        where = text.find(mark, at)
        self.at = where + len(mark)
        return where >= 0

    def _tag(self, written: str, is_end: bool) -> bool:
        attributes = self._attributes()
        if attributes is None:
            return False
        name = written.lower() if written.isascii() else written
        is_closed = self.is_closed
        if is_end:
            self._end(name)
            return True
        self._start(name, attributes, is_closed)
        if name == "plaintext":
            return False
        if name in _RAW and (self.is_mixed or not self._is_foreign()):
            return self._raw(name, attributes)
        return True

    def _attributes(self) -> dict[str, str] | None:
        """The attributes of a tag, first of each name; None when the tag has no end."""
        text, at = self.text, self.at
        attributes: dict[str, str] = {}
        while found := _attribute(text, at):
            at = found.end()
            if found[1]:
                self.at = at
                self.is_closed = found[0].endswith("/>")
                return attributes
            if text.startswith("=", at) and found.lastindex == 2:
                return None  # a quoted value without an end
            name = found[2]
            if name.isascii():
                name = name.lower()
            if name not in attributes:
                value = found[found.lastindex] if found.lastindex and found.lastindex > 2 else ""
                attributes[name] = decode_references(value.replace("\x00", "\ufffd"))
        return None

    def _end(self, name: str) -> None:
        if name == "template":
            self.templates = max(0, self.templates - 1)
        elif name == "noscript":
            self.noscripts = max(0, self.noscripts - 1)
        elif name in {"body", "html", "br"}:
            self.in_head = False
        elif name == "head":
            self.is_after_head = True
        elif self.owners and self.owners[-1][1] == name:
            self.owners.pop()
        if self.islands and self.islands[-1] == name:
            self.islands.pop()

    def _start(self, name: str, attributes: dict[str, str], is_closed: bool) -> None:
        if name == "template":
            self.templates += 1
        if self.templates:
            return
        self._settle(name)
        if name == "noscript":
            self.noscripts += 1
        self._cross_border(name, is_closed)
        if name == "image" and not self._is_foreign():
            name = "img"
        if name == "html" and not self.outline.language:
            self.outline.language = attributes.get("lang") or attributes.get("xml:lang") or ""
        if self.in_frameset == (name == "frame"):
            self._note(name, attributes)
        if name in MEDIA_OWNERS and not is_closed:
            self.owners.append((self.at, name))

    def _settle(self, name: str) -> None:
        """Where in the document this tag says that we are: in the head, a frameset or the body."""
        if name == "frameset" and self.may_be_frameset:
            self.in_frameset = True
            self.outline.links.clear()  # a frameset replaces the body, if nothing in it could be seen
        if name in _VISIBLE_TAGS:
            self.may_be_frameset = False
        if self.in_head and (name not in _IN_HEAD or (self.is_after_head and name == "noscript")):
            self.in_head = False

    def _note(self, name: str, attributes: dict[str, str]) -> None:
        if name in {"a", "area"}:
            href = attributes.get("href", attributes.get("xlink:href"))
            if href is not None:
                self.outline.add_link(href, anchor_flags(attributes.get("rel")))
        elif (name in ELEMENTS and name != "script") or "itemprop" in attributes:
            self._element(name, attributes)

    def _cross_border(self, name: str, is_closed: bool) -> None:
        if name in _FOREIGN_TAGS:
            if not is_closed:
                self.islands.append(name)
        elif self._is_foreign():
            if name in _INTEGRATION_TAGS:
                following = self.text.find("<", self.at)
                if not is_closed and not self.text.startswith(f"</{name}>", following):
                    self.islands.append(name)
                    self.is_mixed = True
            elif _is_breakout(name):
                while self._is_foreign():
                    self.islands.pop()

    def _is_foreign(self) -> bool:
        return bool(self.islands) and self.islands[-1] in _FOREIGN_TAGS

    def _element(self, name: str, attributes: dict[str, str]) -> None:
        element = Element(name, attributes)
        element.in_head = self.in_head
        element.in_noscript = self.noscripts > 0
        if name == "video":
            element.owner, element.owner_tag = self.at, name
        elif self.owners and name in {"img", "source"}:
            element.owner, element.owner_tag = self.owners[-1]
        if "itemprop" in attributes and "content" not in attributes and "datetime" not in attributes:
            where = self.text.find("<", self.at)
            element.text = decode_text_references(self.text[self.at : where if where >= 0 else None][:1_000])
        self.outline.add(element)

    def _raw(self, name: str, attributes: dict[str, str]) -> bool:
        """Pass the text of an element that holds no markup, up to its end tag. False when there is none."""
        start = self.at
        end = self._script_end(start) if name == "script" else _RAW[name](self.text, start)
        if name == "title" and not self.has_title and not self.templates and not self.islands:
            self.outline.title = decode_text_references(
                self.text[start : end.start() if end else None][:16_384]
            )
            self.has_title = True
        if end is None:
            return False
        kind = attributes.get("type", "").partition(";")[0].strip().lower()
        if name == "script" and kind == "application/ld+json" and not self.templates:
            element = Element(name, attributes)
            element.text = self.text[start : end.start()]
            self.outline.add(element)
        self.at = end.start()
        return True

    def _script_end(self, at: int) -> re.Match[str] | None:
        """The end tag of a script: one within ``<!-- <script>`` does not end it (#script-data-double-escaped-state)."""
        depth = 0
        while found := _script_mark(self.text, at):
            at = found.end()
            if found[1]:
                depth = depth or 1
                at -= 2  # its dashes may be those of "-->"
            elif found[2]:
                depth = 0
            elif found[3]:
                if depth < 2:
                    return found
                depth = 1
            elif depth == 1:
                depth = 2
        return None
