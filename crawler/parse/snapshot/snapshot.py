"""What is kept of a page between visits: its markup without what nobody reads, compressed. Judges nothing.

Nothing is taken apart here, for this is done for every page of every crawl: one pass of one regular expression and one
of the compressor. What the markup says is found out when a later body differs, for both bodies by the same software, so
that a new release of it changes no date.
"""

import re
from hashlib import sha256
from typing import Final

from isal import igzip_lib, isal_zlib

from crawler.model import FetchedDocument
from crawler.parse.html import encoding

MAX_SNAPSHOT: Final = 1_000_000
"""Bytes of reduced markup that are kept. What a page says behind them is not watched."""
VERSION: Final = 1
_LEVEL: Final = 1
_DECOMPRESS_ERROR: type[Exception] = igzip_lib.IsalError  # type: ignore[assignment]

# Every alternative ends at its end mark or at the end of the text, so nothing is looked at twice. JSON-LD is data. The
# distance at which its type is looked for is bounded for the same reason. Most tags are told by their first letter: the
# look ahead takes a third off the time.
_unread_markup = re.compile(
    rb"<(?=[!IMSims])(?:script\b(?![^>]{0,200}ld\+json)[^>]*+(?:>.*?(?:</script\b[^>]*+(?:>|\Z)|\Z)|\Z)"
    rb"|style\b[^>]*+(?:>.*?(?:</style\b[^>]*+(?:>|\Z)|\Z)|\Z)"
    rb"|!--(?:-?>|.*?(?:--!?>|\Z))"
    rb"|input\b[^>]*+(?:>|\Z)"
    rb"|meta\s++name=[\"']?_?(?:csrf|nonce)[^>]*+(?:>|\Z))",
    re.DOTALL | re.IGNORECASE,
)


def digest(document: FetchedDocument) -> bytes:
    """16 bytes that are equal for answers which are read alike: the body and the headers that speak about content."""
    stated = "\n".join((document.content_type, document.refresh, *document.links, "\r", *document.robots))
    whole = sha256(document.body, usedforsecurity=False)  # processors have instructions for this one
    whole.update(b"\x00" + stated.encode("utf-8", "surrogatepass"))
    return whole.digest()[:16]


def take_snapshot(body: bytes) -> bytes:
    """What to remember of a body in UTF-8. Linear in the body, at most ``MAX_KEPT`` bytes before compression.

    Equal reduced bodies give equal bytes, as long as the same compressor is used.
    """
    packed: bytes = igzip_lib.compress(
        _unread_markup.sub(b"", body)[:MAX_SNAPSHOT],
        _LEVEL,
        flag=igzip_lib.COMP_ZLIB,
        mem_level=igzip_lib.MEM_LEVEL_MEDIUM,
    )
    return bytes((VERSION,)) + packed


def take_document_snapshot(document: FetchedDocument) -> bytes:
    """The same for a document as it came."""
    return take_snapshot(encoding.to_utf8(document.body, document.content_type).body)


def load_snapshot(kept: bytes) -> str | None:
    """The reduced markup, or None when the bytes are none of ours (or of a version that is not known)."""
    if kept[:1] != bytes((VERSION,)):
        return None
    try:
        markup: bytes = isal_zlib.decompressobj().decompress(kept[1:], MAX_SNAPSHOT)
    except _DECOMPRESS_ERROR:
        return None
    return markup.decode("utf-8", "replace")
