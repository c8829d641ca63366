"""Owns what is said of XML that is not well-formed: the commonest causes in plain words, each with its remedy. Pure."""

import re
from html.entities import html5
from typing import Final
from xml.parsers.expat import errors

from sitemap.escape import quote_text

# Met at the end of a document that was cut off.
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
    errors.codes[
        errors.XML_ERROR_MISPLACED_XML_PI
    ]: "an XML declaration stands inside: it is for the first line",
}
_CONTEXT_BYTES: Final = 60  # bytes that are shown at most
_LONE_AMPERSAND: Final = re.compile(rb"&[\w.:#-]*\Z")
_NAME: Final = re.compile(rb"[^\s<>/&;]{1,64}")
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def truncation_text(inside: tuple[str, ...]) -> str:
    """What a document is that ends too early; ``inside`` are the names of the open elements, "" for unknown ones."""
    known = [name for name in inside if name]
    where = f"inside <{known[-1][:64]}>" if known else "before its root element"
    return f"the document ends {where}: it was cut off, write it anew"


def describe_error(code: int, data: bytes, at: int, inside: tuple[str, ...]) -> str:
    """What expat's error at ``data[at]`` is; ``inside`` are the names of the open elements, the innermost last."""
    # Nothing behind the error, and no tag before it: a defect that is met again must look the same.
    start = max(data.rfind(b">", 0, at) + 1, at - _CONTEXT_BYTES)
    excerpt = quote_text(data[start : at + 1].decode("utf-8", "replace").strip())
    found = _NAME.search(data, at)
    name = found[0].decode("utf-8", "replace") if found else ""
    if code == _MISMATCH and inside:
        return _mismatch(name, inside)
    if code == _ENTITY:
        name = name.removeprefix("&")
        known = html5.get(name + ";", "")
        remedy = (
            f"write &#{ord(known)};" if len(known) == 1 else "write the character itself, or &amp; for an &"
        )
        return f"&{name}; is no entity of XML: {remedy}, at {excerpt}"
    if code == _BAD_REFERENCE:
        return (
            f"&{name.removeprefix('&')}; stands for no character that XML allows: take it out, at {excerpt}"
        )
    if code == _TOKEN:
        return f"{_token(data, at)}, at {excerpt}"
    return _REASONS.get(code, f"this is not well-formed XML ({errors.messages[code]}), at {excerpt}")


def _mismatch(name: str, inside: tuple[str, ...]) -> str:
    last = inside[-1][:64]
    if not last:
        return f"</{name}> does not end what is open: end each tag, the innermost first"
    if name in inside[:-1]:
        return f"<{last}> is not closed: write </{last}> before </{name}>"
    return f"</{name}> stands where only </{last}> may: take it out, or spell it so"


def _token(data: bytes, at: int) -> str:
    before = data[max(at - 64, 0) : at]
    if data[at : at + 1] == b"&" or _LONE_AMPERSAND.search(before):
        return "an & stands alone: write &amp;"
    if _CONTROL.match(data, at):
        return f"there is a control character, {data[at]:#04x}, that XML forbids: take it out"
    if data[at : at + 1] == b"<" or before.endswith(b"<"):
        return "a < stands where no tag can begin: write &lt;"
    if data[at : at + 1] >= b"\x80":
        character = data[at : at + 4].decode("utf-8", "replace")[0]
        if character == "\ufffd":
            return "there are bytes that are not UTF-8: write the file in UTF-8"
        return f"{character!a} stands where XML does not allow it: take it out"
    if before.rfind(b"<!--") > before.rfind(b"-->"):
        return "a comment holds --, which only its end may: write it otherwise"
    if before.endswith(b"]]"):
        return "]]> stands in a text: write ]]&gt;"
    return 'a tag is not as XML wants it: write <name> or <name attribute="value">'
