"""Owns how a URL or a word is quoted in a message: cut to size, harmless to a terminal, without a password. Pure."""

import re
from typing import Final

_USERINFO: Final = re.compile(r"//[^/?#]*@")
_MOST: Final = 200  # characters


def shown(text: str) -> str:
    """A piece of a document, or what a caller gave, as a sentence may hold it: in quotation marks, on one line."""
    return repr(_USERINFO.sub("//***@", text)[:_MOST])
