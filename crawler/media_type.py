"""What a Content-Type value names, however it is written. Looks at no body."""

import re
from typing import Final

HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
FEEDS: Final = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml"})
_MAYBE: Final = frozenset(
    {"", "*/*", "unknown/unknown", "application/unknown", "text/xml", "application/xml"}
)
_essence = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch


def media_type(value: str) -> str:
    """Type and subtype in lower case, without parameters; "" when the value names none.

    In a list with commas the first that is well formed counts, as some servers send the header twice.
    """
    for piece in value.split(","):
        name = piece.partition(";")[0].strip(" \t\r\n")
        if _essence(name):
            return name.lower()
    return ""


def is_html_type(name: str) -> bool | None:
    """True for HTML, False for something else, None when only the bytes can tell: no label, or XML of any kind."""
    if name in HTML:
        return True
    return None if name in _MAYBE else False
