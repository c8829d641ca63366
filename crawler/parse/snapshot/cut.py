"""Recognizes half a page: a body that ends before its page does. Pure.

HTTP tells when a body is incomplete, but not always: a body without Content-Length and chunks ends with the
connection, wherever that is (RFC 9112, section 6.3, rule 8), and a program that dies in the middle of a page ends it as
a whole one. So a page is compared with its last good version. Its end tag may be left out (HTML, section 13.1.2.4), so
the lack of the tag alone says nothing: also the words before it must be gone.
"""

import re
from typing import Final

from crawler.parse.snapshot.blocks import parse_blocks
from crawler.parse.snapshot.snapshot import MAX_SNAPSHOT, load_snapshot

TAIL: Final = 8
"""Words at the end of a page of which most must be gone from the end of a half one."""
MAX_LENGTH: Final = 0.95
"""Share of its former words up to which a page may be a half one."""
SHORT: Final = 0.3
"""Share below which it is one, whatever it says: a program that dies often says so."""
MIN_COMMON: Final = 0.5
"""Share of the words of a half page that the whole one has, too."""

_end = re.compile(rb"</html\b", re.IGNORECASE).search
_words = re.compile(r"\w+").findall


def why_cut(before: bytes, after: bytes, body: bytes, *, is_framed: bool) -> str:
    """Why a page is only a part of the page it was, in words, or "".

    ``before`` and ``after`` are its snapshots, ``body`` the present one as received. ``is_framed``: HTTP told where the
    body ends.
    """
    if _end(body.replace(b"\0", b"")):
        return ""
    markup = load_snapshot(before)
    if markup is None or len(markup) >= MAX_SNAPSHOT:
        return ""
    had_end = "</html" in markup.lower()
    if not had_end and is_framed:
        return ""
    old, new = _page_words(before), _page_words(after)
    if len(new) > MAX_LENGTH * len(old):
        return ""
    share = f"{len(new):,} of {len(old):,} words"
    if not had_end:
        return f"the connection ended after {share}" if new == old[: len(new)] else ""
    is_tail_there = len(set(old[-TAIL:]) & set(new[-2 * TAIL :])) > len(set(old[-TAIL:])) / 2
    is_part = len(set(old) & set(new)) >= MIN_COMMON * len(set(new))
    if is_tail_there or not (is_part or len(new) < SHORT * len(old)):
        return ""
    return f"it ends without </html>, after {share}"


def _page_words(snapshot: bytes) -> list[str]:
    return [word for block in parse_blocks(snapshot) or () if not block.is_fact for word in _words(block.text)]
