"""Soft 404: whether a page is what its site returns, with status 200, for URLs that do not exist. Pure.

https://developers.google.com/search/docs/crawling-indexing/troubleshoot-crawling-errors#soft-404-errors. Only a page
that says the same as the response to a name that cannot exist is a soft 404. A thin page, a product that is sold out
and a search without results say what they are about: their words differ.
"""

import re
from collections import Counter
from collections.abc import Iterable
from html import unescape
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

from crawler.model import Url
from crawler.url.normalize import path_of

MIN_WORDS: Final = 3
"""Words of a page that says something."""
_tag = re.compile(r"<[^>]*+>?")
_word = re.compile(r"[^\W\d_]+")


class PageWords(Struct, frozen=True):
    """What a page says: the words of its title and of its text, without figures. ``own`` are the words of its path."""

    title: list[str]
    text: Counter[str]
    own: frozenset[str]


def page_words(url: Url, title: str, markup: str) -> PageWords:
    """The words of a page; ``markup`` has no scripts, styles or comments. Takes linear time."""
    text = Counter(_words(unescape(_tag.sub(" ", markup))))
    return PageWords(_words(title), text, frozenset(_words(unquote(path_of(url)))))


def has_title(page: PageWords, not_found: PageWords) -> bool:
    """Whether a page has the title of ``not_found``. Many a site repeats the path, so its words do not count."""
    return _without_own(page.title, page, not_found) == _without_own(not_found.title, page, not_found)


def is_soft_404(page: PageWords, not_found: PageWords) -> bool:
    """Whether a page says the same as ``not_found``, the response to a name that cannot exist."""
    if not has_title(page, not_found):
        return False
    text = _without_own(page.text.elements(), page, not_found)
    return len(text) >= MIN_WORDS and Counter(text) == Counter(_without_own(not_found.text.elements(), page, not_found))


def _without_own(words: Iterable[str], page: PageWords, not_found: PageWords) -> list[str]:
    return [word for word in words if word not in page.own and word not in not_found.own]


def _words(text: str) -> list[str]:
    return _word.findall(text.lower())
