"""Recognizes half a page: a body that ends before its page does. Pure.

HTTP tells when a body is incomplete, but not always: a body without Content-Length and chunks ends with the
connection, wherever that is (RFC 9112, section 6.3, rule 8), and a program that dies in the middle of a page ends it as
a whole one. So a page is compared with its last good version: the words at its end are gone, what is left was there
before, and the markup stops in the middle. The end tags of some elements, such as ``html`` and ``p``, may be left out
(HTML, section 13.1.2.4); those of others may not.
"""

import re
from collections import Counter
from typing import Final

from crawler.parse.snapshot.blocks import parse_blocks
from crawler.parse.snapshot.snapshot import is_whole, load_snapshot

TAIL: Final = 8
"""Words at the end of a page of which most must be gone from the end of a half one."""
MAX_LENGTH: Final = 0.95
"""Share of its former words up to which a page may be a half one."""
SHORT: Final = 0.3
"""Share below which a page without its end tag is one, whatever it says: a program that dies often says so."""
MIN_COMMON: Final = 0.5
"""Share of the words of a half page that the whole one has, too."""

_end = re.compile(rb"</html\b", re.IGNORECASE).search
_tags = re.compile(
    r"<(/?)(a|article|aside|dl|div|em|fieldset|figure|footer|form|h[1-6]|header|main|nav|ol|section|span|strong|table|title"
    r"|ul)\b[^<>]*>",
    re.IGNORECASE,
).findall
_any_start_tag = re.compile(r"<([a-z][a-z0-9-]*+)", re.IGNORECASE).findall
_HEAD_TAGS: Final = frozenset({"html", "head", "title", "base", "link", "meta", "style", "script", "noscript"})
_words = re.compile(r"\w+").findall


def why_cut(before: bytes, after: bytes, body: bytes, *, is_framed: bool) -> str:
    """Why a page is only a part of the page it was, in words, or "".

    ``before`` and ``after`` are its snapshots, ``body`` the present one as received. ``is_framed``: HTTP told where the
    body ends.
    """
    if _end(body.replace(b"\0", b"")):
        return ""
    markup, present = load_snapshot(before), load_snapshot(after)
    if markup is None or present is None or not is_whole(markup):
        return ""
    old, new = _page_words(before), _page_words(after)
    if len(new) > MAX_LENGTH * len(old):
        return ""
    is_tail_there = len(set(old[-TAIL:]) & set(new[-2 * TAIL :])) > len(set(old[-TAIL:])) / 2
    if is_tail_there:
        return ""
    share = f"after {len(new):,} of {len(old):,} words"
    is_part = len(set(old) & set(new)) >= MIN_COMMON * len(set(new))
    if "</html" in markup.lower():
        return f"it ends without </html>, {share}" if is_part or len(new) < SHORT * len(old) else ""
    if is_part and (opened := _unclosed(present) - _unclosed(markup)):
        return f"it ends without </{next(iter(opened))}>, {share}"
    if is_part and (_ends_in_tag(body) or (not _has_content(present) and _has_content(markup))):
        return f"it ends in a tag or in its head, {share}"
    if new and _is_beginning(new, old) and (not is_framed or new[-1] != old[len(new) - 1]):
        return f"it ends in the middle, {share}"
    return ""


def _is_beginning(new: list[str], old: list[str]) -> bool:
    """Whether words begin a page, with perhaps the last of them cut."""
    return new[:-1] == old[: len(new) - 1] and old[len(new) - 1].startswith(new[-1])


def _ends_in_tag(body: bytes) -> bool:
    """Whether a body ends between the "<" and the ">" of a tag."""
    begin = body.rfind(b"<")
    return begin > body.rfind(b">") and (body[begin + 1 : begin + 2] in b"/!" or body[begin + 1 : begin + 2].isalpha())


def _has_content(markup: str) -> bool:
    """Whether markup goes on after its head."""
    return any(name.lower() not in _HEAD_TAGS for name in _any_start_tag(markup))


def _unclosed(markup: str) -> Counter[str]:
    """How many elements of each name have no end tag, of those that must have one."""
    tags: Counter[str] = Counter()
    for slash, name in _tags(markup):
        tags[name.lower()] += -1 if slash else 1
    return +tags


def _page_words(snapshot: bytes) -> list[str]:
    return [word for block in parse_blocks(snapshot) or () if not block.is_fact for word in _words(block.text)]
