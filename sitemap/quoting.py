"""Owns how a URL or a word is quoted in a message: cut to size, harmless to a terminal, without a password. Pure."""

import re
from typing import Final

_USERINFO: Final = re.compile(r"//[^/?#]*@")
_MOST: Final = 200  # characters
# Controls (C0, C1), soft hyphens, what turns the line around or ends it, what is never seen (zero width space, word
# joiner, byte order mark, tags), halves of characters, and what is no character. Joiners stay: words need them.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufdd0-\ufdef\ufeff"
    "\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"
)


def shown(text: str) -> str:
    """A piece of a document, or what a caller gave, as a sentence may hold it: in quotation marks, on one line."""
    return repr(_USERINFO.sub("//***@", text)[:_MOST])


def safe(text: str) -> str:
    """Text that a terminal shows and never obeys: what controls it or is not seen becomes a visible escape.

    The direction characters are those of https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters.
    """
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(lambda found: repr(found[0])[1:-1], text)
