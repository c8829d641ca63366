"""The scripts that a document loads, without a tree: which ones decide what a browser would show. Pure."""

import re
from typing import Final

MAX_SCRIPTS: Final = 100
INLINE: Final = "inline"
"""Stands for scripts in the markup itself."""
# possessive, and it stops at the next tag: linear in the body
_scripts = re.compile(rb"<script\b([^<>]*+)>", re.IGNORECASE).finditer
_source = re.compile(rb"""\bsrc\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""", re.IGNORECASE).search
_data_type = re.compile(
    rb"""\btype\s*+=\s*+["']?(?:application/(?:ld\+)?json|text/(?:template|x-))""", re.IGNORECASE
).search


def read_scripts(body: bytes) -> list[str]:
    """The sources of the scripts of a document as written, each once, and ``INLINE``. Data blocks do not count."""
    found: dict[str, None] = {}
    for script in _scripts(body):
        attributes = script[1]
        if _data_type(attributes):
            continue
        source = _source(attributes)
        text = (source[1] or source[2] or source[3] or b"").decode("utf-8", "replace") if source else ""
        found[text or INLINE] = None
        if len(found) >= MAX_SCRIPTS:
            break
    return list(found)
