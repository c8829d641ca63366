"""Owns where bytes come from: a path, bytes, a binary file, or a stream of pieces. Knows nothing of their syntax."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from sitemap.errors import SourceError
from sitemap.escape import shown

_PIECE: Final = 256 * 1024

# A str is a path, never an address or content. A stream may be an iterator that can be gone through once.
Source = str | os.PathLike[str] | bytes | BinaryIO | Iterable[bytes]

_is_url: Final = re.compile("https?://", re.IGNORECASE).match


def pieces(source: Source) -> Iterator[bytes]:
    """The content in pieces of any size. SourceError when it cannot be had; what the source raises is its cause."""
    if isinstance(source, bytes | bytearray | memoryview):
        yield bytes(source)
        return
    if fault := _fault(source):
        raise SourceError(fault)
    try:
        if isinstance(source, str | os.PathLike):
            with Path(source).open("rb") as file:
                yield from iter(lambda: file.read(_PIECE), b"")
            return
        read = getattr(source, "read", None)
        for piece in source if read is None else iter(lambda: read(_PIECE), b""):
            if not isinstance(piece, bytes | bytearray | memoryview):
                said = f"gave {type(piece).__name__} instead of bytes: open it in binary mode"
                raise SourceError(f"{described(source)} {said}")
            yield bytes(piece)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SourceError(f"{described(source)} cannot be read: {why}") from error


def _fault(source: object) -> str:
    """Why something cannot be a source, or ""."""
    if isinstance(source, str):
        if _is_url(source):
            return (
                f"{shown(source)} is a URL: this package opens no connections; pass the bytes, or an opener"
            )
        if source.lstrip("\ufeff \t\r\n").startswith("<"):
            return f"{shown(source)} looks like XML: pass bytes, a str is a path"
    elif not isinstance(source, os.PathLike | Iterable) and not hasattr(source, "read"):
        return f"{type(source).__name__} is no source: pass a path, bytes, a binary file or pieces of bytes"
    return ""


def name_of(source: Source) -> str:
    """The path of a source, or "" when it has none."""
    if isinstance(source, bytes):
        return ""
    name = source if isinstance(source, str | os.PathLike) else getattr(source, "name", "")
    return os.fspath(name) if isinstance(name, str | os.PathLike) else ""


def described(source: Source) -> str:
    """A source as a message names it."""
    name = name_of(source)
    return shown(name) if name else "the document"
