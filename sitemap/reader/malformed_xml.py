"""XML that is not well-formed: describes the error and its remedy, and repairs what it can. Pure.

Repaired are stray ampersands, HTML entities and forbidden characters.
"""

import re
from html.entities import html5
from typing import Final
from xml.parsers.expat import errors

from sitemap.escape import quote_text

_SUSPECT_PATTERN = re.compile(
    rb"&(?:#([0-9]{1,7});|#[xX]([0-9A-Fa-f]{1,6});|([A-Za-z][A-Za-z0-9]{1,31});)?|[\x00-\x08\x0b\x0c\x0e-\x1f]"
)

_KNOWN_ENTITIES = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})

_SPECIAL = ((b"<![CDATA[", b"]]>"), (b"<!--", b"-->"))

_MAX_HELD: Final = 1024 * 1024  # bytes of an unfinished tag or section


class Repairer:
    """Repairs a stream of UTF-8 bytes piece by piece, except inside CDATA sections and comments."""

    def __init__(self) -> None:
        self._held = b""

    @property
    def holds(self) -> bool:
        """Whether it holds bytes of an unfinished tag or section."""
        return bool(self._held)

    def feed(self, data: bytes, *, final: bool = False) -> bytes:
        """The repaired bytes up to the last safe cut; with ``final`` all of them."""
        data = self._held + data
        cut = len(data) if final else _safe_cut(data)
        self._held = data[cut:]
        return repair(data[:cut])


def repair(data: bytes) -> bytes:
    """``data`` with its defects repaired, in linear time."""
    data = data.decode("utf-8", "replace").encode()
    parts: list[bytes] = []
    position = 0
    # The next position of each opening. It is searched for again only after it is passed, which keeps this linear.
    ahead = {opening: data.find(opening) for opening, _ in _SPECIAL}
    while True:
        sections = [(ahead[opening], opening, closing) for opening, closing in _SPECIAL if ahead[opening] >= 0]
        if not sections:
            parts.append(_SUSPECT_PATTERN.sub(_repair_reference, data[position:]))
            return b"".join(parts)
        begin, opening, closing = min(sections)
        end = data.find(closing, begin + len(opening))
        if end < 0:
            ahead[opening] = -1  # it never ends, so it is ordinary text
            continue
        end += len(closing)
        parts.append(_SUSPECT_PATTERN.sub(_repair_reference, data[position:begin]))
        parts.append(data[begin:end])
        position = end
        for name, at in ahead.items():
            if 0 <= at < end:
                ahead[name] = data.find(name, end)


def _safe_cut(data: bytes) -> int:
    """A position that divides no tag, reference, character or CDATA section."""
    cut = data.rfind(b">") + 1
    for opening, closing in _SPECIAL:
        last = data.rfind(opening, 0, cut)
        if last >= 0 and data.find(closing, last, cut) < 0:
            cut = min(cut, last)
    return cut if len(data) - cut <= _MAX_HELD else len(data)


def _repair_reference(match: re.Match[bytes]) -> bytes:
    reference = match[0]
    decimal, hexadecimal, name = match.groups()
    if decimal or hexadecimal:
        return reference if _is_allowed(int(decimal or hexadecimal, 10 if decimal else 16)) else "\ufffd".encode()
    if name:
        if name in _KNOWN_ENTITIES:
            return reference
        character = html5.get(name.decode("ascii") + ";")
        return _escaped(character) if character else b"&amp;" + reference[1:]
    return b"&amp;" if reference == b"&" else b""


def _escaped(text: str) -> bytes:
    return text.replace("&", "&amp;").replace("<", "&lt;").encode()


def _is_allowed(code: int) -> bool:
    """https://www.w3.org/TR/xml/#charsets"""
    return code in {9, 10, 13} or 32 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF


_CLOSINGS: Final = {b"<!--": b"-->", b"<?": b"?>"}


def end_mark(token: bytes) -> bytes:
    """What ends a token that begins with these bytes."""
    return next((closing for opening, closing in _CLOSINGS.items() if token.startswith(opening)), b">")


# Errors at the end of a truncated document.
TRUNCATION_CODES: Final = frozenset(
    errors.codes[text]
    for text in (
        errors.XML_ERROR_NO_ELEMENTS,
        errors.XML_ERROR_UNCLOSED_TOKEN,
        errors.XML_ERROR_PARTIAL_CHAR,
        errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
)
JUNK_CODE: Final = errors.codes[errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]
_MISMATCH = errors.codes[errors.XML_ERROR_TAG_MISMATCH]
_ENTITY = errors.codes[errors.XML_ERROR_UNDEFINED_ENTITY]
_BAD_REFERENCE = errors.codes[errors.XML_ERROR_BAD_CHAR_REF]
_TOKEN = errors.codes[errors.XML_ERROR_INVALID_TOKEN]
_REASONS: Final = {
    errors.codes[errors.XML_ERROR_DUPLICATE_ATTRIBUTE]: "a tag has an attribute twice: keep one",
    errors.codes[errors.XML_ERROR_MISPLACED_XML_PI]: "an XML declaration is not at the start: move it there",
}
_CONTEXT_BYTES: Final = 60  # in a message
_LONE_AMPERSAND: Final = re.compile(rb"&[\w.:#-]*\Z")
_NAME: Final = re.compile(rb"[^\s<>/&;]{1,64}")
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def truncation_text(inside: tuple[str, ...]) -> str:
    """Describe a truncated document; ``inside`` are the names of the open elements, "" for unknown ones."""
    known = [name for name in inside if name]
    place = f"inside <{known[-1][:64]}>" if known else "before its root element"
    return f"the document ends {place}: it is truncated, write it again"


def describe_error(code: int, data: bytes, at: int, inside: tuple[str, ...]) -> str:
    """Describe expat's error at ``data[at]``; ``inside`` are the names of the open elements, innermost last."""
    # The excerpt ends at the error and has no tag: a defect that is read again must have the same text.
    start = max(data.rfind(b">", 0, at) + 1, at - _CONTEXT_BYTES)
    excerpt = quote_text(data[start : at + 1].decode("utf-8", "replace").strip())
    match = _NAME.search(data, at)
    name = match[0].decode("utf-8", "replace") if match else ""
    if code == _MISMATCH and inside:
        return _mismatch(name, inside)
    if code == _ENTITY:
        name = name.removeprefix("&")
        character = html5.get(name + ";", "")
        remedy = (
            f"write &#{ord(character)};" if len(character) == 1 else "write the character itself, or &amp; for an &"
        )
        return f"&{name}; is not an XML entity: {remedy}, at {excerpt}"
    if code == _BAD_REFERENCE:
        return f"&{name.removeprefix('&')}; is not a character that XML allows: remove it, at {excerpt}"
    if code == _TOKEN:
        return f"{_token(data, at)}, at {excerpt}"
    return _REASONS.get(code, f"this is not well-formed XML ({errors.messages[code]}), at {excerpt}")


def _mismatch(name: str, inside: tuple[str, ...]) -> str:
    last = inside[-1][:64]
    if not last:
        return f"</{name}> does not match an open tag: close each tag, innermost first"
    if name in inside[:-1]:
        return f"<{last}> is not closed: write </{last}> before </{name}>"
    return f"</{name}> is where only </{last}> may be: remove or correct it"


def _token(data: bytes, at: int) -> str:
    preceding = data[max(at - 64, 0) : at]
    if data[at : at + 1] == b"&" or _LONE_AMPERSAND.search(preceding):
        return "an & is not escaped: write &amp;"
    if _CONTROL.match(data, at):
        return f"there is a control character, {data[at]:#04x}, that XML forbids: remove it"
    if data[at : at + 1] == b"<" or preceding.endswith(b"<"):
        return "a < is not escaped: write &lt;"
    if data[at : at + 1] >= b"\x80":
        character = data[at : at + 4].decode("utf-8", "replace")[0]
        if character == "\ufffd":
            return "there are bytes that are not UTF-8: write the file in UTF-8"
        return f"{character!a} is where XML does not allow it: remove it"
    if preceding.rfind(b"<!--") > preceding.rfind(b"-->"):
        return "a comment contains --, which is allowed only at its end: replace it"
    if preceding.endswith(b"]]"):
        return "a text contains ]]>: write ]]&gt;"
    return 'a tag is malformed: write <name> or <name attribute="value">'
