"""Which encoding a document is in, and its body as UTF-8. Knows nothing of markup beyond the prescan for meta.

The order is that of https://html.spec.whatwg.org/#determining-the-character-encoding: byte order mark, charset of the
Content-Type header, a meta element in the first 1,024 bytes, then a guess. The standard leaves the guess to us: a body
that is valid UTF-8 is UTF-8, everything else is windows-1252. Labels are looked up in the table of the Encoding
Standard, never among Python's codecs, so that no page can choose ``rot13``.
"""

import re
from typing import Final

import webencodings
from msgspec import Struct

from crawler.fetch.media_type import is_html_type, parse_media_type

PRESCAN: Final = 1_024

"""Bytes in which a meta element can name the encoding."""


_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))

_param = re.compile(r";[\t\n\f\r ]*charset=(?:\"([^\"]*)\"?|([^;\"]*))", re.IGNORECASE).search

_in_content = re.compile(
    rb"charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|(?![\"'])([^\t\n\f\r ;]+))", re.IGNORECASE
).search

# One step over a document's start: a comment, a meta element, a tag, or other markup that ends at ">".
_step = re.compile(
    rb"<!--(?:(?=-?>)|.*?(?=-->|\Z))|<(meta)(?=[\t\n\f\r /])|</?[a-z][^\t\n\f\r >]*|<[!/?][^>]*",
    re.IGNORECASE | re.DOTALL,
)

_attribute = re.compile(
    rb"[\t\n\f\r /]*([^\t\n\f\r />][^\t\n\f\r />=]*)[\t\n\f\r ]*"
    rb"(?:=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|(?=>)|(?![\"'])([^\t\n\f\r >]+)))?"
)

_tag_end = re.compile(rb"[\t\n\f\r /]*>")


class Utf8Body(Struct, frozen=True):
    """A body as valid UTF-8, and the WHATWG name of the encoding it came in ("" for UTF-8 and UTF-16).

    The name is what queries of links are encoded with: https://url.spec.whatwg.org/#query-state.
    """

    body: bytes
    encoding: str = ""


def to_utf8(body: bytes, content_type: str) -> Utf8Body:
    """Transcode a body. Bytes that mean nothing become U+FFFD; never raises."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return _decode(body[len(mark) :], name)
    label = header_charset(content_type)
    if label in {"", "utf-8", "iso-8859-1"} and body.isascii() and b"\x1b" not in body:
        return Utf8Body(body)  # the same in every encoding that a meta element or a guess could bring
    return _decode(body, _encoding_name(label) or prescan(body) or _guess_encoding(body))


def header_charset(content_type: str) -> str:
    """The charset parameter of a Content-Type value, in lower case, or ""."""
    found = _param(content_type)
    return (found[1] or found[2] or "").strip(" \t'").lower() if found else ""


def prescan(body: bytes) -> str:
    """The encoding that a meta element in the first 1,024 bytes names, or "".

    https://html.spec.whatwg.org/#prescan-a-byte-stream-to-determine-its-encoding
    """
    head = body[:PRESCAN]
    at = 0
    while found := _step.search(head, at):
        at = found.end()
        if not found[0][1:].removeprefix(b"/")[:1].isalpha():
            continue
        attributes, at = _attributes(head, at)
        if found[1] and at <= len(head):
            name = _named_by(attributes)
            if name:
                return name
    return ""


def _attributes(head: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """The attributes from a position on, and where the tag ended (past the end, if it was cut off)."""
    attributes: dict[bytes, bytes] = {}
    while not (end := _tag_end.match(head, at)):
        found = _attribute.match(head, at)
        if found is None or found.end() >= len(head):
            return {}, len(head) + 1
        if found.lastindex == 1 and head[found.end()] == ord("="):
            return {}, len(head) + 1  # a quoted value without an end
        value = found[2] or found[3] or found[4] or b""
        attributes.setdefault(found[1].lower(), value)
        at = found.end()
    return attributes, end.end()


def _named_by(meta: dict[bytes, bytes]) -> str:
    label = meta.get(b"charset")
    if label is None:
        if meta.get(b"http-equiv", b"").lower() != b"content-type":
            return ""
        found = _in_content(meta.get(b"content", b""))
        label = (found[1] or found[2] or found[3] or b"") if found else b""
    name = _encoding_name(label.decode("latin-1"))
    if name.startswith("utf-16"):
        return "utf-8"
    return "windows-1252" if name == "x-user-defined" else name


def _encoding_name(label: str) -> str:
    known = webencodings.lookup(label) if label else None
    return known.name if known else ""


def _guess_encoding(body: bytes) -> str:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        # A body that was cut short may end within a character; what comes before it tells.
        is_cut = error.reason == "unexpected end of data" and not body[: error.start].isascii()
        return "utf-8" if is_cut else "windows-1252"
    return "utf-8"


def _decode(body: bytes, name: str) -> Utf8Body:
    if name == "utf-8":
        return Utf8Body(_valid_utf8(body))
    if name == "replacement":
        return Utf8Body("\ufffd".encode())
    known = webencodings.lookup(name)
    text: str = known.codec_info.decode(body, "replace")[0]
    return Utf8Body(text.encode("utf-8", "replace"), "" if name.startswith("utf-16") else name)


def _valid_utf8(body: bytes) -> bytes:
    try:
        body.decode()
    except UnicodeDecodeError:
        return body.decode("utf-8", "replace").encode()
    return body


_SNIFF_BYTES: Final = 1_024


_binary = re.compile(
    rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a|RIFF....(?:WEBP|AVI |WAVE)|BM.{4}\x00{4}|II\*\x00|MM\x00\*"
    rb"|%PDF-|%!PS-|PK[\x03\x05\x07][\x04\x06\x08]|\x1f\x8b\x08|Rar!\x1a\x07|7z\xbc\xaf\x27\x1c|\xfd7zXZ\x00"
    rb"|\x28\xb5\x2f\xfd|BZh[1-9]1AY|....ftyp|\x1aE\xdf\xa3|OggS\x00|fLaC\x00|ID3[\x02-\x04]\x00|\x00\x00\x01[\xba\xb3]"
    rb"|\x00\x00\x01\x00[\x01-\x20]\x00|wOF[F2]|\x00\x01\x00\x00\x00|OTTO\x00|\x7fELF|\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1|\xca\xfe\xba\xbe"
    rb"|SQLite format 3\x00|FLV\x01",
    re.DOTALL,
).match

_markup = re.compile(
    rb"[\t\n\f\r ]*(?:<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|meta|link"
    rb"|!--)[\t\n\f\r >/]|<!--)",
    re.IGNORECASE,
).match

_xhtml = re.compile(rb"<html[\t\n\f\r >]|http://www\.w3\.org/1999/xhtml", re.IGNORECASE).search


def is_html(content_type: str, body: bytes) -> bool:
    """Whether a body with this Content-Type value ("" when there was none) is to be read as HTML."""
    kind = parse_media_type(content_type)
    claim = is_html_type(kind)
    start = body[:_SNIFF_BYTES]
    if claim is False or _binary(start):
        return False
    if claim:
        return True
    if start[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        start = start.replace(b"\x00", b"")[2:]
    start = start.removeprefix(b"\xef\xbb\xbf")
    if start.lstrip().startswith(b"<?xml"):
        return _xhtml(start) is not None
    return not kind.endswith("/xml") and _markup(start) is not None
