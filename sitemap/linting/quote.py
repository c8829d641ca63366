"""Owns how a piece of a document is quoted in a finding: cut to size, harmless to a terminal, without passwords."""

import re
from typing import Final

_USERINFO: Final = re.compile(r"//[^/?#]*@")
_MOST: Final = 120  # characters


def shown(text: str) -> str:
    """A URL or a word as a sentence may hold it."""
    return repr(_USERINFO.sub("//", text)[:_MOST])
