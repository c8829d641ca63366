"""Character references in attribute values, as https://html.spec.whatwg.org/#character-reference-state reads them."""

import re
from functools import cache
from typing import Final

_reference = re.compile(r"&(?:#(?:[xX]([0-9a-fA-F]+)|([0-9]+));?|([A-Za-z][A-Za-z0-9]*)(;?)(=?))")

_LONGEST = 32  # characters of the longest name

# What the numbers 0x80 to 0x9F mean: they are read as windows-1252.
_WINDOWS = {n: chr(n).encode("latin-1").decode("windows-1252", "replace") for n in range(0x80, 0xA0)}


def decode_references(value: str) -> str:
    """The value with its references replaced; a name without ``;`` before ``=`` or a letter stays as it is."""
    return _reference.sub(_replace, value) if "&" in value else value


def decode_text_references(text: str) -> str:
    """The same for text outside attributes, where old names need no ``;`` at all (``&copy=1``)."""
    from html import unescape  # noqa: PLC0415 - only needed for what the parser could not read

    return unescape(text) if "&" in text else text


@cache
def _names() -> dict[str, str]:
    from html.entities import html5  # noqa: PLC0415 - 2,231 names, only needed for what the parser could not read

    return html5


def _replace(found: re.Match[str]) -> str:
    hexadecimal, decimal, name, end, equals = found.groups()
    if name is None:
        digits = hexadecimal or decimal
        number = int(digits, 16 if hexadecimal else 10) if len(digits) <= _LONGEST else 0x110000
        return _character(number)
    if len(name) > _LONGEST:
        return found[0]
    if end:
        known = _names().get(f"{name};")
        return found[0] if known is None else known + equals
    if equals:
        return found[0]
    known = _names().get(name)
    return found[0] if known is None else known


def _character(number: int) -> str:
    if number == 0 or number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        return "\ufffd"
    return _WINDOWS.get(number) or chr(number)


MAX_TITLE: Final = 512

"""Characters of a title that are kept."""


# C0 and C1 controls, bidirectional overrides and isolates, line separators, lone surrogates, byte order marks.
_control_characters = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


def one_line(text: str, limit: int) -> str:
    """At most ``limit`` characters, white space collapsed, control characters out."""
    text = text[: limit * 16]
    if not text.isascii() or not text.isprintable():
        text = _control_characters.sub("", text)
    return " ".join(text.split())[:limit].rstrip()
