"""Whether a body is HTML, from its label and its first bytes. Knows nothing of encodings or markup beyond the start.

A label is believed unless the bytes are the signature of something else: servers label what they do not know as HTML.
Without a label the bytes decide (https://mimesniff.spec.whatwg.org/#identifying-a-resource-with-an-unknown-mime-type).
"""

import re
from typing import Final

from crawler.fetch.media_type import is_html_type, media_type

_LOOKED_AT: Final = 1_024

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
    kind = media_type(content_type)
    claim = is_html_type(kind)
    start = body[:_LOOKED_AT]
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
