"""Takes the snapshot of a page that is stored between visits: its markup without unread parts, compressed.

The markup is not parsed here, because every page of every crawl passes through: it costs one pass of one regular
expression and one of the compressor. Markup is parsed when a later body differs. The same release then parses both
bodies, so that a new release changes no lastmod.
"""

import re
from hashlib import sha256
from typing import Final

from isal import igzip_lib, isal_zlib

from crawler.model import FetchedDocument

MAX_SNAPSHOT: Final = 1_000_000
"""Bytes of reduced markup in a snapshot. Changes after them are not detected."""
VERSION: Final = 1
_LEVEL: Final = 1
_DECOMPRESS_ERROR: type[Exception] = igzip_lib.IsalError  # type: ignore[assignment]

# Scripts, styles, comments, inputs and tokens. JSON-LD stays, because it is data. Every alternative ends at its end
# mark or at the end of the text, and the search for the type of a script is bounded, so nothing is read twice. The
# look-ahead rejects most tags by their first letter, which saves a third of the time.
_unread_markup = re.compile(
    rb"(<(?=[!IMSims])(?:script\b(?![^>]{0,200}ld\+json)[^>]*+(?:>.*?(?:</script\b[^>]*+(?:>|\Z)|\Z)|\Z)"
    rb"|style\b[^>]*+(?:>.*?(?:</style\b[^>]*+(?:>|\Z)|\Z)|\Z)"
    rb"|!--(?:-?>|.*?(?:--!?>|\Z))"
    rb"|input\b[^>]*+(?:>|\Z)"
    rb"|meta\s++name=[\"']?_?(?:csrf|nonce)[^>]*+(?:>|\Z)))",
    re.DOTALL | re.IGNORECASE,
).split


def digest(document: FetchedDocument) -> bytes:
    """16 bytes that are equal for responses with the same body and the same headers about content."""
    headers = "\n".join((document.content_type, document.refresh, *document.links, "\r", *document.robots))
    hasher = sha256(document.body, usedforsecurity=False)  # processors have instructions for this one
    hasher.update(b"\x00" + headers.encode("utf-8", "surrogatepass"))
    return hasher.digest()[:16]


def reduce_markup(body: bytes) -> tuple[bytes, list[bytes]]:
    """A body in UTF-8 without its unread parts, and these parts; in linear time."""
    parts = _unread_markup(body)
    return b"".join(parts[::2]), parts[1::2]


def take_snapshot(body: bytes) -> bytes:
    """The snapshot of a body in UTF-8, in linear time."""
    return pack_snapshot(reduce_markup(body)[0])


def pack_snapshot(markup: bytes) -> bytes:
    """The snapshot of reduced markup. It has at most ``MAX_SNAPSHOT`` bytes before compression.

    Equal markup gives equal bytes, as long as the compressor stays the same.
    """
    packed: bytes = igzip_lib.compress(
        markup[:MAX_SNAPSHOT], _LEVEL, flag=igzip_lib.COMP_ZLIB, mem_level=igzip_lib.MEM_LEVEL_MEDIUM
    )
    return bytes((VERSION,)) + packed


def unpack_snapshot(snapshot: bytes) -> bytes | None:
    """The reduced markup in UTF-8, or None when the bytes are no snapshot or one of an unknown version."""
    if snapshot[:1] != bytes((VERSION,)):
        return None
    try:
        markup: bytes = isal_zlib.decompressobj().decompress(snapshot[1:], MAX_SNAPSHOT)
    except _DECOMPRESS_ERROR:
        return None
    return markup


def load_snapshot(snapshot: bytes) -> str | None:
    """The same as text."""
    markup = unpack_snapshot(snapshot)
    return None if markup is None else markup.decode("utf-8", "replace")


def load_markup(snapshot: bytes) -> str:
    """The reduced markup; "" when the bytes are no snapshot or one of an unknown version."""
    return load_snapshot(snapshot) or ""


def is_whole(markup: str) -> bool:
    """Whether the reduced markup of a snapshot is all of its page."""
    return len(markup.encode()) < MAX_SNAPSHOT
