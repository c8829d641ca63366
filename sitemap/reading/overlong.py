"""Owns the passing over of comments and instructions that are too long to hold. Pure; linear in their length."""

from typing import Final

_CLOSINGS: Final = {b"<!--": b"-->", b"<?": b"?>"}


class Overlong:
    """Searches for the end of one token at a time. ``closing`` is what ends it, or b"" while there is none."""

    def __init__(self) -> None:
        self.closing = b""
        self.lines = 0  # line ends in what was passed over
        self._tail = b""

    def begin(self, token: bytes) -> bytes:
        """Pass over the rest of a token, given from its start; answers what is to end it in its place.

        b"" for a token that ends in no certain way, such as a tag.
        """
        opening = next((opening for opening in _CLOSINGS if token.startswith(opening)), b"")
        closing = _CLOSINGS.get(opening, b"")
        self.closing, self.lines, self._tail = closing, 0, token[1 - len(closing) :] if closing else b""
        if not closing:
            return b""
        if missing := _missing(token):
            return missing + closing
        # Two hyphens inside a comment are an error: those that stand at its end are part of what ends it.
        return closing[next(n for n in (2, 1, 0) if token.endswith(closing[:n])) :]

    def feed(self, data: bytes) -> bytes:
        """What follows the token, once its end has come; ``closing`` is b"" then."""
        held = self._tail + data
        at = held.find(self.closing)
        end = len(held) if at < 0 else at + len(self.closing)
        self.lines += held.count(b"\n", len(self._tail), end)
        if at < 0:
            self._tail = held[1 - len(self.closing) :]
            return b""
        self.closing = self._tail = b""
        return held[end:]


def _missing(data: bytes) -> bytes:
    """What makes a character of UTF-8 that was cut at the end a whole one (RFC 3629 section 4), whichever."""
    for had in (1, 2, 3):
        first = data[-had]
        if first >= 0xC0:
            lacks = (2 if first < 0xE0 else 3 if first < 0xF0 else 4) - had
            lowest = {0xE0: b"\xa0", 0xF0: b"\x90"}.get(first, b"\x80") if had == 1 else b"\x80"
            return (lowest + b"\x80\x80")[:lacks] if lacks > 0 else b""
    return b""
