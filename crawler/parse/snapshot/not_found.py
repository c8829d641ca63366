"""Soft 404: whether a page is what its site returns, with status 200, for URLs that do not exist. Pure.

https://developers.google.com/search/docs/crawling-indexing/troubleshoot-crawling-errors#soft-404-errors. Only a page
that says the same as the response to a name that cannot exist is a soft 404. A thin page, a product that is sold out
and a search without results say what they are about: their words differ. A page whose whole title is a phrase such as
"Page not found" says the same in its own words, if it says little else.
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
NUMBER: Final = "404"
MAX_WORDS: Final = 150
"""Words of a page, its navigation included, that says little but that it does not exist."""
_PHRASES: Final = frozenset(
    phrase.casefold()
    for phrase in (
        *("page not found", "page cannot be found", "that page can t be found", "page does not exist"),
        *("page doesn t exist", "page no longer exists", "this page does not exist", "this page could not be found"),
        *("the page you requested was not found", "seite nicht gefunden", "seite wurde nicht gefunden"),
        *("diese seite existiert nicht", "page introuvable", "page non trouvée", "página no encontrada"),
        *("pagina non trovata", "página não encontrada", "pagina niet gevonden", "sidan hittades inte"),
        *("siden blev ikke fundet", "nie znaleziono strony", "strona nie została znaleziona", "stránka nenalezena"),
        *("страница не найдена", "ページが見つかりません", "页面未找到"),
    )
)
_FILLERS: Final = frozenset({"error", "http", "oops", "ooops", "whoops", "sorry"})
_title_parts = re.compile(r"\s[:-]\s|\s?[|\u00b7\u2013\u2014]\s?|:\s").split  # also at a middle dot and at dashes
_number = re.compile(rf"(?<![0-9]){NUMBER}(?![0-9])")
_leading_number = re.compile(r"([0-9]++)(?![^\W_])").match
_tag = re.compile(r"<[^>]*+>?")
_word = re.compile(r"(?<![^\W_])[^\W\d_]++(?![^\W_])")  # with figures in it, it is a number, an id or a date


class PageWords(Struct, frozen=True):
    """What a page says: the words without figures of its title and its text. ``own`` are the words of its path."""

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


def is_called_not_found(title: str) -> bool:
    """Whether a title, or its part beside the name of the site, says that a page does not exist, and nothing else.

    "Not found" needs the number 404 beside it, as in "Not found - 404 - Example". The number alone counts only at the
    start: "Photo | 404" is a photo.
    """
    has_number = bool(_number.search(title))
    for place, part in enumerate(_title_parts(title)):
        phrase = " ".join(word for word in _words(part) if word not in _FILLERS)
        is_number = not phrase and not place and bool(_number.search(part))
        if phrase in _PHRASES or (phrase == "not found" and has_number) or is_number:
            return True
    return False


def numbered(title: str) -> tuple[str, str]:
    """The number that a title begins with, and the rest; "" and the title without one.

    "404 | Photos" is a photo if there is "405 | Photos".
    """
    found = _leading_number(title)
    return (found[1], title[found.end() :]) if found else ("", title)


def says_little(page: PageWords) -> bool:
    """Whether a page has at most :data:`MAX_WORDS` words."""
    return page.text.total() <= MAX_WORDS


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
