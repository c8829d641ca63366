"""Owns the mending of text that is almost XML: stray ampersands, HTML entities, forbidden characters. Pure."""

import re
from html.entities import html5
from typing import Final

_SUSPECT = re.compile(
    rb"&(?:#([0-9]{1,7});|#[xX]([0-9A-Fa-f]{1,6});|([A-Za-z][A-Za-z0-9]{1,31});)?|[\x00-\x08\x0b\x0c\x0e-\x1f]"
)
_KNOWN = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})
_SPECIAL = ((b"<![CDATA[", b"]]>"), (b"<!--", b"-->"))
_HOLD: Final = 1024 * 1024  # bytes that may wait for the end of a tag or section


class Repairer:
    """Mends a stream of UTF-8 bytes piece by piece; what is inside CDATA sections and comments stays as it is."""

    def __init__(self) -> None:
        self._held = b""

    @property
    def holds(self) -> bool:
        """Whether bytes wait for the end of a tag or section."""
        return bool(self._held)

    def feed(self, data: bytes, *, final: bool = False) -> bytes:
        """The mended bytes that are certain by now; with ``final`` all of them."""
        data = self._held + data
        cut = len(data) if final else _safe_cut(data)
        self._held = data[cut:]
        return mend(data[:cut])


def mend(data: bytes) -> bytes:
    """All of ``data`` with its defects mended. Linear in its length."""
    data = data.decode("utf-8", "replace").encode()
    parts: list[bytes] = []
    position = 0
    # Where each opening stands next. None is searched for again before it is passed: that keeps this linear.
    ahead = {opening: data.find(opening) for opening, _ in _SPECIAL}
    while True:
        found = [(ahead[opening], opening, closing) for opening, closing in _SPECIAL if ahead[opening] >= 0]
        if not found:
            parts.append(_SUSPECT.sub(_mended, data[position:]))
            return b"".join(parts)
        begin, opening, closing = min(found)
        end = data.find(closing, begin + len(opening))
        if end < 0:
            ahead[opening] = -1  # it never ends: from now on it is nothing special
            continue
        end += len(closing)
        parts.append(_SUSPECT.sub(_mended, data[position:begin]))
        parts.append(data[begin:end])
        position = end
        for name, at in ahead.items():
            if 0 <= at < end:
                ahead[name] = data.find(name, end)


def _safe_cut(data: bytes) -> int:
    """Where the data can be cut without dividing a tag, a reference, a character or a CDATA section."""
    cut = data.rfind(b">") + 1
    for opening, closing in _SPECIAL:
        last = data.rfind(opening, 0, cut)
        if last >= 0 and data.find(closing, last, cut) < 0:
            cut = min(cut, last)
    return cut if len(data) - cut <= _HOLD else len(data)


def _mended(found: re.Match[bytes]) -> bytes:
    whole = found[0]
    decimal, hexadecimal, name = found.groups()
    if decimal or hexadecimal:
        return whole if _allowed(int(decimal or hexadecimal, 10 if decimal else 16)) else "\ufffd".encode()
    if name:
        if name in _KNOWN:
            return whole
        character = html5.get(name.decode("ascii") + ";")
        return _escaped(character) if character else b"&amp;" + whole[1:]
    return b"&amp;" if whole == b"&" else b""


def _escaped(text: str) -> bytes:
    return text.replace("&", "&amp;").replace("<", "&lt;").encode()


def _allowed(code: int) -> bool:
    """https://www.w3.org/TR/xml/#charsets"""
    return (
        code in {9, 10, 13} or 32 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF
    )
