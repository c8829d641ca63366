"""Decides whether a body is HTML and which encoding it is in, and converts it to UTF-8.

The order is that of https://html.spec.whatwg.org/#determining-the-character-encoding: byte order mark, charset of the
Content-Type header, a meta element in the first 1,024 bytes, then a guess. The standard leaves the guess to the
implementation: here valid UTF-8 is UTF-8, everything else is windows-1252. Labels are looked up in the table of the
Encoding Standard, not among Python's codecs, so that no page can choose ``rot13``. Whether a body is HTML follows from
its Content-Type, and from its first bytes where that says nothing (https://mimesniff.spec.whatwg.org/).
"""

import re
from collections import defaultdict
from functools import lru_cache
from typing import Final

import msgspec
import webencodings
from msgspec import Struct

from crawler.fetch.header_values import is_html_type, parse_media_type

PRESCAN: Final = 1_024
"""Bytes in which a meta element can name the encoding."""
_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_param = re.compile(r";[\t\n\f\r ]*charset=(?:\"([^\"]*)\"?|([^;\"]*))", re.IGNORECASE).search
_in_content = re.compile(
    rb"charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|(?![\"'])([^\t\n\f\r ;]+))", re.IGNORECASE
).search
# One step of the prescan: a comment, a meta element, a tag, or other markup that ends at ">".
_step = re.compile(
    rb"<!--(?:(?=-?>)|.*?(?=-->|\Z))|<(meta)(?=[\t\n\f\r /])|</?[a-z][^\t\n\f\r >]*|<[!/?][^>]*",
    re.IGNORECASE | re.DOTALL,
)
_attribute = re.compile(
    rb"[\t\n\f\r /]*+([^\t\n\f\r />][^\t\n\f\r />=]*+)[\t\n\f\r ]*+"
    rb"(?:=[\t\n\f\r ]*+(?:\"([^\"]*+)\"|'([^']*+)'|(?=>)|(?![\"'])([^\t\n\f\r >]++)))?"
).match
_tag_end = re.compile(rb"[\t\n\f\r /]*+>").match
_SNIFF_BYTES: Final = 1_024
_binary = re.compile(
    rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a|RIFF....(?:WEBP|AVI |WAVE)|BM.{4}\x00{4}|II\*\x00|MM\x00\*"
    rb"|%PDF-|%!PS-|PK[\x03\x05\x07][\x04\x06\x08]|\x1f\x8b\x08|Rar!\x1a\x07|7z\xbc\xaf\x27\x1c|\xfd7zXZ\x00"
    rb"|\x28\xb5\x2f\xfd|BZh[1-9]1AY|....ftyp|\x1aE\xdf\xa3|OggS\x00|fLaC\x00|ID3[\x02-\x04]\x00|\x00\x00\x01[\xba\xb3]"
    rb"|\x00\x00\x01\x00[\x01-\x20]\x00|wOF[F2]|\x00\x01\x00\x00\x00|OTTO\x00|\x7fELF|\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1|\xca\xfe\xba\xbe"
    rb"|SQLite format 3\x00|FLV\x01",
    re.DOTALL,
).match
# Binary data bytes, but for NUL (UTF-16) and ESC (ISO-2022-JP): https://mimesniff.spec.whatwg.org/#binary-data-byte
_CONTROLS: Final = bytes((*range(1, 9), 11, *range(14, 27), *range(28, 32)))
_MAX_CONTROL_SHARE: Final = 1 / 32
"""Share of control characters up to which labelled HTML is text with blemishes. Of random bytes, a tenth are such."""
_MAX_CONTROLS: Final = 8
"""And their number, in short bodies."""
_MAX_INVALID_SHARE: Final = 1 / 500
"""Half surrogates for each byte of UTF-16. Random bytes hold seven times as many."""
_markup = re.compile(
    rb"[\t\n\f\r ]*(?:<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|meta|link"
    rb"|!--)[\t\n\f\r >/]|<!--)",
    re.IGNORECASE,
).match
# What stands before the first element, and its name, or that of an HTML doctype before it.
_root = re.compile(
    rb"((?:[\t\n\f\r ]++|<\?[^>]*+>|<!--(?:[^-]++|-(?!->))*+-->|<!doctype[\t\n\f\r ]++(?!html\b)[^>\[]*+>)*+)"
    rb"<(?:!doctype[\t\n\f\r ]++)?([a-z_][a-z0-9_.:-]*+)",
    re.IGNORECASE,
).match
_XML_ROOTS: Final = frozenset({b"rss", b"feed", b"rdf:rdf", b"urlset", b"sitemapindex"})
"""Feeds (https://mimesniff.spec.whatwg.org/#rules-for-distinguishing-if-a-resource-is-a-feed-or-html) and sitemaps."""
_HTML_ROOTS: Final = frozenset(
    b"a article aside b base body br center div dl fieldset font footer form frameset h1 h2 h3 h4 h5 h6 head header hr"
    b" html iframe img link main meta nav noscript ol p pre script section span strong style table title ul".split()
)
_XHTML: Final = b"http://www.w3.org/1999/xhtml"


class Utf8Body(Struct, frozen=True):
    """A body as valid UTF-8, and the WHATWG name of its original encoding ("" for UTF-8 and UTF-16).

    That encoding applies to the queries of its links: https://url.spec.whatwg.org/#query-state.
    """

    body: bytes
    encoding: str = ""


def to_utf8(body: bytes, content_type: str) -> Utf8Body:
    """Transcode a body. Invalid bytes become U+FFFD; never raises."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return _decode(body[len(mark) :], name)
    label = header_charset(content_type)
    if label in {"", "utf-8", "iso-8859-1"} and body.isascii() and b"\x1b" not in body:
        return Utf8Body(body)  # equal in every encoding that a meta element or a guess can name
    return _decode(body, _encoding_name(label) or prescan(body) or _guess_encoding(body))


@lru_cache(maxsize=64)  # the pages of a site share few values
def header_charset(content_type: str) -> str:
    """The charset parameter of a Content-Type value, in lower case, or ""."""
    match = _param(content_type)
    return "".join(match.groups("")).strip(" \t'").lower() if match else ""


def prescan(body: bytes) -> str:
    """The encoding that a meta element in the first 1,024 bytes names, or "".

    https://html.spec.whatwg.org/#prescan-a-byte-stream-to-determine-its-encoding
    """
    head = body[:PRESCAN]
    at = 0
    while step := _step.search(head, at):
        at = step.end()
        if not step[0][1:].removeprefix(b"/")[:1].isalpha():
            continue
        tag = _attributes(head, at)
        if tag is None:
            break
        attributes, at = tag
        if step[1] and (name := _meta_encoding(attributes)):
            return name
    return ""


def _attributes(head: bytes, at: int) -> tuple[defaultdict[bytes, bytes], int] | None:
    """The attributes that start at a position, and where the tag ends; None if it is cut off."""
    attributes: defaultdict[bytes, bytes] = defaultdict(bytes)
    while not (end := _tag_end(head, at)):
        match = _attribute(head, at)
        if match is None or match.end() >= len(head):
            return None
        if match.lastindex == 1 and head[match.end()] == ord("="):
            return None  # a quoted value without an end
        name, *values = match.groups(b"")
        attributes.setdefault(name.lower(), b"".join(values))
        at = match.end()
    return attributes, end.end()


def _meta_encoding(meta: defaultdict[bytes, bytes]) -> str:
    label = meta.get(b"charset")
    if label is None:
        match = _in_content(meta[b"content"])
        if match is None or meta[b"http-equiv"].lower() != b"content-type":
            return ""
        label = b"".join(match.groups(b""))
    name = _encoding_name(label.decode(errors="replace"))
    if name.startswith("utf-16"):
        return "utf-8"
    return "windows-1252" if name == "x-user-defined" else name


def _encoding_name(label: str) -> str:
    encoding = webencodings.lookup(label)
    return encoding.name if encoding else ""


def _guess_encoding(body: bytes) -> str:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        # A truncated body may end inside a character; the text before it decides.
        is_cut = error.reason == "unexpected end of data" and not body[: error.start].isascii()
        return "utf-8" if is_cut else "windows-1252"
    return "utf-8"


def _decode(body: bytes, name: str) -> Utf8Body:
    if name == "utf-8":
        return Utf8Body(_valid_utf8(body))
    if name == "replacement":
        return Utf8Body("\ufffd".encode())
    text: str = webencodings.lookup(name).codec_info.decode(body, "replace")[0]
    return Utf8Body(text.encode(), "" if name.startswith("utf-16") else name)


def _valid_utf8(body: bytes) -> bytes:
    try:
        body.decode()
    except UnicodeDecodeError:
        return body.decode(errors="replace").encode()
    return body


def is_html(content_type: str, body: bytes) -> bool:
    """Whether a body with this Content-Type value ("" for none) is read as HTML.

    What is labelled as HTML is none if it begins as a feed, a sitemap or other XML, or if all of it is JSON: scripts
    that leave out the label send these. What is labelled as XML is HTML if browsers show it as such: by its root
    element and namespace. What is labelled as text is none, because browsers and search engines show its markup.
    """
    kind = parse_media_type(content_type)
    is_labelled = is_html_type(kind)
    start = body[:_SNIFF_BYTES]
    if is_labelled is False or _binary(start) or (is_labelled and _is_noise(start, content_type)):
        return False
    if start[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        start = start.replace(b"\x00", b"")[2:]
    start = start.removeprefix(b"\xef\xbb\xbf")
    root = _root(start)
    name = root[2].lower() if root else b""
    is_declared = root is not None and b"<?xml" in root[1]
    if name in _XML_ROOTS:
        return False
    if is_labelled:
        return not (is_declared and name not in _HTML_ROOTS) and not (start.lstrip()[:1] in b"{[" and _is_json(body))
    if is_declared or kind.endswith("/xml"):
        return name == b"html" and (is_declared or _XHTML in start)
    return _markup(start) is not None


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"), type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _is_noise(start: bytes, content_type: str) -> bool:
    """Whether a body is no text: compressed or encrypted data that nothing announces."""
    most = max(_MAX_CONTROLS, _MAX_CONTROL_SHARE * len(start))
    if _controls(start) <= most:
        return False
    text = to_utf8(start, content_type).body
    # noise that begins as UTF-16 does has half surrogates, and few control characters
    return _controls(text) > most or text.count(b"\xef\xbf\xbd") > _MAX_INVALID_SHARE * len(start)


def _controls(text: bytes) -> int:
    """How many control characters a text has, in a third of the time that an expression takes."""
    return len(text) - len(text.translate(None, _CONTROLS))
