"""Text of a page made fit to be kept and shown: short, on one line, without characters that act on a terminal."""

import re
from typing import Final

MAX_TITLE: Final = 512
"""Characters of a title that are kept."""

# C0 and C1 controls, bidirectional overrides and isolates, line separators, lone surrogates, byte order marks.
_acting = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


def one_line(text: str, limit: int) -> str:
    """At most ``limit`` characters, white space collapsed, control characters out."""
    text = text[: limit * 16]
    if not text.isascii() or not text.isprintable():
        text = _acting.sub("", text)
    return " ".join(text.split())[:limit].rstrip()
