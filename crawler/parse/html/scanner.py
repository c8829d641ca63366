"""Builds an outline by a linear scan without a tree, for a document on which the parser hung or crashed.

It follows https://html.spec.whatwg.org/#tokenization, and that part of tree construction which decides whether a tag
counts: raw text, comments, templates, framesets, the end of the head. Where it simplifies, it finds less than a
browser. It may find more only where a tree drops tags, as in SVG or MathML mixed with ``select`` or ``frameset``. Each
character is read a bounded number of times: a search either moves on to its match, or ends the scan.
"""

import re
from typing import Final

from crawler.parse.html.outline import ELEMENTS, MEDIA_OWNERS, Element, Outline, anchor_flags, is_jsonld
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
        self.islands: list[str] = []  # open svg and math elements, and those in them that contain HTML
        self.is_mixed = False  # there is HTML within SVG or MathML; only a tree knows where it ends
        self.owners: list[tuple[int, str]] = []

    def run(self) -> None:
        text = self.text
        while self.at < len(text):
            opening = _open(text, self.at)
            if opening is None:
                return
            if (self.in_head or self.may_be_frameset) and not self.templates:
                self._text(text[self.at : opening.start()])
            self.at = opening.end()
            if not (self._tag(opening[5], bool(opening[4])) if opening[5] else self._skip(opening)):
                return

    def _text(self, text: str) -> None:
        if text.strip(_WHITESPACE):
            self.in_head = False
            self.may_be_frameset = self.may_be_frameset and not text.replace("\x00", "").strip(_WHITESPACE)

    def _skip(self, opening: re.Match[str]) -> bool:
        """Skip a comment, a CDATA section or a declaration. False when it has no end."""
        text, at = self.text, self.at
        if opening[1]:
            for ending in (">", "->"):
                if text.startswith(ending, at):
                    self.at = at + len(ending)
                    return True
            end = _comment_end(text, at)
            self.at = end.end() if end else len(text)
            return end is not None
        if opening[2] and self.is_mixed:
            return False
        ending = "]]>" if opening[2] and self._is_foreign() else ">"
        position = text.find(ending, at)
        self.at = position + len(ending)
        return position >= 0

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
        """The attributes of a tag, the first of each name, or None when the tag has no end."""
        text, at = self.text, self.at
        attributes: dict[str, str] = {}
        while match := _attribute(text, at):
            at = match.end()
            if match[1]:
                self.at = at
                self.is_closed = match[0].endswith("/>")
                return attributes
            if text.startswith("=", at) and match.lastindex == 2:
                return None  # a quoted value without an end
            name = match[2]
            if name.isascii():
                name = name.lower()
            if name not in attributes:
                value = match[match.lastindex] if match.lastindex and match.lastindex > 2 else ""
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
        self._enter_section(name)
        if name == "noscript":
            self.noscripts += 1
        self._cross_border(name, is_closed)
        if name == "image" and not self._is_foreign():
            name = "img"
        if name == "html" and not self.outline.language:
            self.outline.language = attributes.get("lang") or attributes.get("xml:lang") or ""
        if self.in_frameset == (name == "frame"):
            self._add(name, attributes)
        if name in MEDIA_OWNERS and not is_closed:
            self.owners.append((self.at, name))

    def _enter_section(self, name: str) -> None:
        """Update whether the scan is in the head, a frameset or the body, as this tag shows."""
        if name == "frameset" and self.may_be_frameset:
            self.in_frameset = True
            self.outline.links.clear()  # a frameset replaces a body without visible content
        if name in _VISIBLE_TAGS:
            self.may_be_frameset = False
        if self.in_head and (name not in _IN_HEAD or (self.is_after_head and name == "noscript")):
            self.in_head = False

    def _add(self, name: str, attributes: dict[str, str]) -> None:
        if name in {"a", "area"}:
            href = attributes.get("href", attributes.get("xlink:href"))
            if href is not None:
                self.outline.add_link(href, anchor_flags(attributes.get("rel")))
        elif name in ELEMENTS and name != "script":
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
        self.outline.add(element)

    def _raw(self, name: str, attributes: dict[str, str]) -> bool:
        """Skip the text of an element without markup, up to its end tag. False when there is none."""
        start = self.at
        end = self._script_end(start) if name == "script" else _RAW[name](self.text, start)
        if name == "title" and not self.has_title and not self.templates and not self.islands:
            self.outline.title = decode_text_references(self.text[start : end.start() if end else None][:16_384])
            self.has_title = True
        if end is None:
            return False
        if name == "script" and is_jsonld(attributes.get("type", "")) and not self.templates:
            element = Element(name, attributes)
            element.text = self.text[start : end.start()]
            self.outline.add(element)
        self.at = end.start()
        return True

    def _script_end(self, at: int) -> re.Match[str] | None:
        """The end tag of a script. One after ``<!-- <script>`` does not end it (#script-data-double-escaped-state)."""
        depth = 0
        while mark := _script_mark(self.text, at):
            at = mark.end()
            if mark[1]:
                depth = depth or 1
                at -= 2  # its dashes may also belong to "-->"
            elif mark[2]:
                depth = 0
            elif mark[3]:
                if depth < 2:
                    return mark
                depth = 1
            elif depth == 1:
                depth = 2
        return None
