"""Collects which parts of pages exist and which ones links name, as numbers that an audit compares. Pure.

A number costs each page of each crawl a fraction of what a text costs. It may miss a part that is marked up in a rare
form, so it only says where to look: :mod:`crawler.audit.missing_parts` reads the markup then.
"""

import re
from array import array
from collections.abc import Collection, Mapping
from itertools import repeat
from typing import Final
from urllib.parse import unquote_to_bytes
from zlib import crc32

from crawler.model import Url
from crawler.parse.html.text import decode_references

NO_PARTS: Final = frozenset(("", "top", "Top", "TOP"))
"""What leads to the top of a page: https://html.spec.whatwg.org/#find-a-potential-indicated-element ."""
ROUTES: Final = "/!"
"""What begins a route of a script, which is no part of a page."""
# It begins with one character, for which a search is fastest, and the look-behind that rejects most comes first.
_ids = re.compile(rb"=(?<=id=)(?<=\sid=)[\"']?([^\"'\s>]+)").findall


def page_number(url: str) -> int:
    """The number of a page, from which those of its parts begin."""
    return crc32(url.encode())


def part_number(page: int, part: str) -> int:
    """The number of a part of the page with this number. ``part`` may be percent-encoded."""
    return crc32(unquote_to_bytes(part) if "%" in part else part.encode("utf-8", "surrogatepass"), page)


def pack_parts(url: str, body: bytes) -> bytes:
    """The numbers of the ids in a document in UTF-8."""
    ids = _ids(body)
    if ids and b"&" in b"".join(ids):
        ids = [decode_references(each.decode()).encode("utf-8", "surrogatepass") for each in ids]
    return array("I", set(map(crc32, ids, repeat(page_number(url))))).tobytes()


def pack_named(named: Collection[tuple[str, str]], targets: Mapping[str, Url | None], origin: str) -> bytes:
    """The numbers of the parts of pages of an origin that references name: each as its text before the # and after it.

    ``targets`` are the URLs of the references without their parts.
    """
    numbers = array("I")
    pages: dict[str, int] = {}
    for text, part in named:
        if (page := pages.get(text)) is None:
            url = targets.get(text)
            page = pages[text] = page_number(url) if url and url.startswith(origin) else -1
        if page >= 0 and part not in NO_PARTS and part[0] not in ROUTES:
            numbers.append(part_number(page, part))
    return numbers.tobytes()


def unpack_numbers(packed: bytes) -> "array[int]":
    """The numbers of parts."""
    return array("I", packed)
