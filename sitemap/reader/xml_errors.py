"""Describes XML that is not well-formed: the most common causes in plain words, each with its remedy. Pure."""

import re
from html.entities import html5
from typing import Final
from xml.parsers.expat import errors

from sitemap.escape import quote_text

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
