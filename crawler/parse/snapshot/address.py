"""Hides the address of a page in its own texts, so that texts of different pages can be compared. Pure.

A line such as "Warning: undefined variable in query for '/about'" is one change of the site, not one edit of each page.
"""

import re
from typing import Final
from urllib.parse import unquote, urlsplit

from crawler.parse.snapshot.snapshot import load_snapshot, take_snapshot

MIN_PATH: Final = 4
"""Characters of a path from which on it hardly stands in a text by chance."""
HIDDEN: Final = "#"
"""Stands for the address, as for other text that varies: :func:`crawler.parse.snapshot.text.mask_variable_text`."""

_text = re.compile(r"(?:\A|>)[^<]++").sub


def hide_address(snapshot: bytes, url: str) -> bytes:
    """The snapshot of the page at ``url``, without its path, its URL and its query in texts. Attributes stay."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    paths = {each for each in (path, unquote(path)) if len(each) >= MIN_PATH}
    markup = load_snapshot(snapshot) if paths else None
    if markup is None or not any(each in markup for each in paths):
        return snapshot
    query = rf"(?:\?{re.escape(parts.query).replace('&', '&(?:amp;)?')})?" if parts.query else ""
    names = "|".join(map(re.escape, sorted(paths)))
    address = re.compile(rf"(?:(?<!\w)https?://[^\s/<>\"']{{1,255}}+|(?<![\w/.-]))(?:{names}){query}/?(?![\w/-])").sub
    hidden = _text(lambda text: address(HIDDEN, text[0]) if any(each in text[0] for each in paths) else text[0], markup)
    return snapshot if hidden == markup else take_snapshot(hidden.encode("utf-8", "replace"))
