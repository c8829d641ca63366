"""Reads a stretch of text with the tags inside it: what a reader sees, where its links lead, what it states as data."""

import re
from html import unescape
from typing import Final

from msgspec import Struct

from crawler.content.markup import inner_tags
from crawler.content.memo import Memo
from crawler.content.tags import fact, read_attributes, source
from crawler.content.wording import address

_parts = re.compile(r"<(/?[a-zA-Z][^\s/>]*+)(.*?)>?\Z", re.DOTALL).match

# The most frequent of all tags, where it says nothing but an address that needs no reading.
_link = re.compile(
    r"<a (?:class=\"[^\"]*+\" )?href=\"((?!javascript:)[a-z./#][^\"&?\s]{0,499}+)\""
    r"(?: (?:title|class|rel|target)=\"[^\"]*+\")*+>\Z"
).match


class Said(Struct, frozen=True, gc=False):
    """What a stretch says. ``says`` is all that counts, ``text`` is what a person may be shown."""

    says: str = ""
    text: str = ""
    is_link: bool = False
    facts: tuple[tuple[str, str], ...] = ()


class _Inner(Struct, frozen=True, gc=False):
    """What one tag inside a text adds to it."""

    begins: bool = False  # a link
    ends: bool = False
    text: str = ""
    target: str = ""
    fact: tuple[str, str] = ("", "")


def _inner(written: str) -> _Inner:
    if plain := _link(written):
        return _Inner(begins=True, target=plain[1])
    found = _parts(written)
    if not found:
        return _Inner()
    tag, attributes = found[1].lower(), found[2]
    stated = read_attributes(attributes) if tag[0] != "/" and attributes else {}
    target = address(stated["href"]) if "href" in stated else source(stated)
    return _Inner(
        begins=tag == "a",
        ends=tag == "/a",
        text=f" {stated.get('alt', '')} " if tag in {"br", "wbr", "img"} else "",
        target="" if target[:11].lower().startswith("javascript:") else target,
        fact=fact(tag, stated),
    )


_INNER: Final = Memo(_inner)


def _read(raw: str) -> Said:
    if "<" not in raw:
        text = " ".join((unescape(raw) if "&" in raw else raw).split())
        return Said(text, text)
    parts = inner_tags.split(raw)
    targets: list[str] = []
    facts: list[tuple[str, str]] = []
    in_link, outside = False, not (not parts[0] or parts[0].isspace())
    for at in range(1, len(parts), 2):
        inner = _INNER[parts[at]]
        parts[at] = inner.text
        if inner.begins or inner.ends:
            in_link = inner.begins
        if inner.target:
            targets.append(inner.target)
        if inner.fact[1]:
            facts.append(inner.fact)
        if not in_link and not outside:
            text = parts[at + 1]
            outside = not (not text or text.isspace())
    text = "".join(parts)
    text = " ".join((unescape(text) if "&" in text else text).split())
    says = "\x1f".join((text, *targets))
    return Said(says, text or says[1:], bool(targets) and not outside, tuple(facts))


STRETCHES: Final = Memo(_read)
"""What a stretch says, by its markup."""
