"""Owns the last look at a staged file before it is published: reads it back and compares it with what was meant."""

import hashlib
import zlib
from collections.abc import Iterator
from typing import BinaryIO
from xml.parsers import expat

from sitemap import gz
from sitemap.errors import DestinationError

_PIECE = 1024 * 1024


def verify(file: BinaryIO, name: str, expected: tuple[int, str], *, packed: bool) -> None:
    """Raise DestinationError unless the file holds ``expected`` (bytes, hexadecimal SHA-256) and is well-formed XML.

    The digest is of what was handed to the file system, so a byte that was lost or changed on the way is found; the
    parser is one more witness, that never saw how the bytes were made.
    """
    digest, size, parser = hashlib.sha256(), 0, expat.ParserCreate("utf-8")
    try:
        for piece in _content(file, packed=packed):
            digest.update(piece)
            size += len(piece)
            parser.Parse(piece, False)
        parser.Parse(b"", True)
    except (OSError, zlib.error, expat.ExpatError) as error:
        raise DestinationError(
            f"the staged {name} cannot be read back: {error}; nothing was published"
        ) from error
    if (size, digest.hexdigest()) != expected:
        raise DestinationError(
            f"the staged {name} reads back as {size:,} bytes that are not those written; nothing was published: "
            "check the disk"
        )


def _content(file: BinaryIO, *, packed: bool) -> Iterator[bytes]:
    unpacker = gz.Unpacker()
    while piece := file.read(_PIECE):
        if packed:
            yield from unpacker.feed(piece)
        else:
            yield piece
    if packed:
        yield from unpacker.close()
        if unpacker.fault:
            raise zlib.error(unpacker.fault)
