"""Repairs text that is almost XML: stray ampersands, HTML entities, forbidden characters, overlong tokens. Pure."""

import re
from html.entities import html5
from typing import Final

_SUSPECT_PATTERN = re.compile(
    rb"&(?:#([0-9]{1,7});|#[xX]([0-9A-Fa-f]{1,6});|([A-Za-z][A-Za-z0-9]{1,31});)?|[\x00-\x08\x0b\x0c\x0e-\x1f]"
)

_KNOWN_ENTITIES = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})

_SPECIAL = ((b"<![CDATA[", b"]]>"), (b"<!--", b"-->"))

_MAX_HELD: Final = 1024 * 1024  # bytes of an unfinished tag or section


class Repairer:
    """Repairs a stream of UTF-8 bytes piece by piece, except inside CDATA sections and comments."""

    def __init__(self) -> None:
        self._held = b""

    @property
    def holds(self) -> bool:
        """Whether it holds bytes of an unfinished tag or section."""
        return bool(self._held)

    def feed(self, data: bytes, *, final: bool = False) -> bytes:
        """The repaired bytes up to the last safe cut; with ``final`` all of them."""
        data = self._held + data
        cut = len(data) if final else _safe_cut(data)
        self._held = data[cut:]
        return repair(data[:cut])


def repair(data: bytes) -> bytes:
    """``data`` with its defects repaired, in linear time."""
    data = data.decode("utf-8", "replace").encode()
    parts: list[bytes] = []
    position = 0
    # The next position of each opening. It is searched for again only after it is passed, which keeps this linear.
    ahead = {opening: data.find(opening) for opening, _ in _SPECIAL}
    while True:
        sections = [(ahead[opening], opening, closing) for opening, closing in _SPECIAL if ahead[opening] >= 0]
        if not sections:
            parts.append(_SUSPECT_PATTERN.sub(_repair_reference, data[position:]))
            return b"".join(parts)
        begin, opening, closing = min(sections)
        end = data.find(closing, begin + len(opening))
        if end < 0:
            ahead[opening] = -1  # it never ends, so it is ordinary text
            continue
        end += len(closing)
        parts.append(_SUSPECT_PATTERN.sub(_repair_reference, data[position:begin]))
        parts.append(data[begin:end])
        position = end
        for name, at in ahead.items():
            if 0 <= at < end:
                ahead[name] = data.find(name, end)


def _safe_cut(data: bytes) -> int:
    """A position that divides no tag, reference, character or CDATA section."""
    cut = data.rfind(b">") + 1
    for opening, closing in _SPECIAL:
        last = data.rfind(opening, 0, cut)
        if last >= 0 and data.find(closing, last, cut) < 0:
            cut = min(cut, last)
    return cut if len(data) - cut <= _MAX_HELD else len(data)


def _repair_reference(match: re.Match[bytes]) -> bytes:
    reference = match[0]
    decimal, hexadecimal, name = match.groups()
    if decimal or hexadecimal:
        return reference if _is_allowed(int(decimal or hexadecimal, 10 if decimal else 16)) else "\ufffd".encode()
    if name:
        if name in _KNOWN_ENTITIES:
            return reference
        character = html5.get(name.decode("ascii") + ";")
        return _escaped(character) if character else b"&amp;" + reference[1:]
    return b"&amp;" if reference == b"&" else b""


def _escaped(text: str) -> bytes:
    return text.replace("&", "&amp;").replace("<", "&lt;").encode()


def _is_allowed(code: int) -> bool:
    """https://www.w3.org/TR/xml/#charsets"""
    return code in {9, 10, 13} or 32 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF


_CLOSINGS: Final = {b"<!--": b"-->", b"<?": b"?>"}


class OverlongTokens:
    """Skips to the end of one overlong token at a time. ``closing`` is its end mark, or b"" without a token."""

    def __init__(self) -> None:
        self.closing = b""
        self.lines = 0  # line ends in the skipped bytes
        self._tail = b""

    def begin(self, token: bytes) -> bytes:
        """Begin to skip the rest of a token, given its first bytes. Returns bytes that end it here.

        Returns b"" for a token without a fixed end mark, such as a tag.
        """
        opening = next((opening for opening in _CLOSINGS if token.startswith(opening)), b"")
        closing = _CLOSINGS.get(opening, b"")
        self.closing, self.lines, self._tail = closing, 0, token[1 - len(closing) :] if closing else b""
        if not closing:
            return b""
        if missing := _completion(token):
            return missing + closing
        # Two hyphens inside a comment are an error, so hyphens at the cut are part of the end mark.
        return closing[next(n for n in (2, 1, 0) if token.endswith(closing[:n])) :]

    def feed(self, data: bytes) -> bytes:
        """The bytes after the token, once its end is found; then ``closing`` is b""."""
        held = self._tail + data
        at = held.find(self.closing)
        end = len(held) if at < 0 else at + len(self.closing)
        self.lines += held.count(b"\n", len(self._tail), end)
        if at < 0:
            self._tail = held[1 - len(self.closing) :]
            return b""
        self.closing = self._tail = b""
        return held[end:]


def _completion(data: bytes) -> bytes:
    """Bytes that complete a UTF-8 character that is cut at the end of the data (RFC 3629 section 4)."""
    for present in (1, 2, 3):
        first = data[-present]
        if first >= 0xC0:
            missing = (2 if first < 0xE0 else 3 if first < 0xF0 else 4) - present
            lowest = {0xE0: b"\xa0", 0xF0: b"\x90"}.get(first, b"\x80") if present == 1 else b"\x80"
            return (lowest + b"\x80\x80")[:missing] if missing > 0 else b""
    return b""
