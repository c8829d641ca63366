"""Cleans the text of a document: decodes character references, and makes one line of a title.

https://html.spec.whatwg.org/#character-reference-state decides what a reference means.
"""

import re
from functools import cache
from typing import Final

_reference = re.compile(r"&(?:#(?:[xX]([0-9a-fA-F]+)|([0-9]+));?|([A-Za-z][A-Za-z0-9]*)(;?)(=?))")
_LONGEST = 32  # characters of the longest name
# The meaning of the numbers 0x80 to 0x9F, which are windows-1252.
_WINDOWS = {n: chr(n).encode("latin-1").decode("windows-1252", "replace") for n in range(0x80, 0xA0)}
MAX_TITLE: Final = 512
"""Characters of a title that are kept."""
# C0 and C1 controls, bidirectional overrides and isolates, line separators, lone surrogates, byte order marks.
_control_characters = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


def decode_references(value: str) -> str:
    """The value with its references replaced; a name without ``;`` before ``=`` or a letter stays as it is."""
    return _reference.sub(_replace, value) if "&" in value else value


def decode_text_references(text: str) -> str:
    """The same for text outside attributes, where old names never need ``;`` (``&copy=1``)."""
    from html import unescape  # noqa: PLC0415 - few documents need it

    return unescape(text) if "&" in text else text


@cache
def _names() -> dict[str, str]:
    from html.entities import html5  # noqa: PLC0415 - few documents need these 2,231 names

    return html5


def _replace(match: re.Match[str]) -> str:
    hexadecimal, decimal, name, end, equals = match.groups()
    if name is None:
        digits = hexadecimal or decimal
        number = int(digits, 16 if hexadecimal else 10) if len(digits) <= _LONGEST else 0x110000
        return _character(number)
    if len(name) > _LONGEST:
        return match[0]
    if end:
        text = _names().get(f"{name};")
        return match[0] if text is None else text + equals
    if equals:
        return match[0]
    return _names().get(name, match[0])


def _character(number: int) -> str:
    if number == 0 or number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        return "\ufffd"
    return _WINDOWS.get(number) or chr(number)


def one_line(text: str, limit: int) -> str:
    """At most ``limit`` characters of a text, with white space collapsed and control characters removed."""
    text = text[: limit * 16]
    if not text.isascii() or not text.isprintable():
        text = _control_characters.sub("", text)
    return " ".join(text.split())[:limit].rstrip()
