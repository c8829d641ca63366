"""Soft 404: whether a page is what its site returns, with status 200, for URLs that do not exist. Pure.

https://developers.google.com/search/docs/crawling-indexing/troubleshoot-crawling-errors#soft-404-errors. A page is a
soft 404 if it is like the response to a name that cannot exist, or if its title and its text say that nothing is there,
and hardly anything else. A title alone does not count: a car is called 404, and a film "Page not found". A thin page, a
product that is sold out and a search without results say what they are about: their words differ.
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
"""Words of a page that says something. With fewer, its markup has to be the same."""
MAX_WORDS: Final = 40
"""Words of a page whose title alone says that nothing is there. A page about something has more."""
_PHRASES: Final = frozenset(
    phrase.casefold()
    for phrase in (
        *("page not found", "not found", "page cannot be found", "that page can t be found", "page does not exist"),
        *("page doesn t exist", "page no longer exists", "this page does not exist", "this page could not be found"),
        *("the page you requested was not found", "seite nicht gefunden", "seite wurde nicht gefunden"),
        *("diese seite existiert nicht", "page introuvable", "page non trouvée", "página no encontrada"),
        *("pagina non trovata", "página não encontrada", "pagina niet gevonden", "sidan hittades inte"),
        *("siden blev ikke fundet", "nie znaleziono strony", "strona nie została znaleziona", "stránka nenalezena"),
        *("страница не найдена", "ページが見つかりません", "页面未找到"),
    )
)
_denies = re.compile(
    r"not (?:be )?found|(?:not|no longer) exists?|nicht gefunden|existiert nicht|introuvable|non trouv|no encontrad"
    r"|non trovat|não encontrad|niet gevonden|hittades inte|ikke fundet|nie znaleziono|nenalezen|не найден"
    r"|見つかりません|未找到"
).search
_tag = re.compile(r"<[^>]*+>?")
_title = re.compile(r"<title\b[^>]*+>?[^<]*+", re.IGNORECASE)
_tag_name = re.compile(r"<(/?[a-zA-Z][a-zA-Z0-9-]*+)").findall
_media = re.compile(r"<(?:img|iframe|video|audio|source|object|embed)\b[^>]*+").findall
_word = re.compile(r"(?<![^\W_])[^\W\d_]++(?![^\W_])")  # with figures in it, it is a number, an id or a date


class PageWords(Struct, frozen=True):
    """What a page says: the words without figures of its title and its text. ``own`` are the words of its path.

    ``markup`` has no scripts, styles or comments.
    """

    title: list[str]
    text: Counter[str]
    own: frozenset[str]
    markup: str

    @property
    def phrases(self) -> frozenset[str]:
        """The phrases for what does not exist that are all of the text between two tags, the title left out."""
        body = _title.sub("", self.markup)
        return _PHRASES.intersection(" ".join(_words(unescape(text))) for text in _tag.split(body))


def page_words(url: Url, title: str, markup: str) -> PageWords:
    """The words of a page. Takes linear time."""
    text = Counter(_words(unescape(_tag.sub(" ", markup))))
    return PageWords(_words(title), text, frozenset(_words(unquote(path_of(url)))), markup)


def has_title(page: PageWords, not_found: PageWords) -> bool:
    """Whether a page has the title of ``not_found``. Many a site repeats the path, so its words do not count."""
    return _without_own(page.title, page, not_found) == _without_own(not_found.title, page, not_found)


def is_soft_404(page: PageWords, not_found: PageWords, *, varies: bool = False) -> bool:
    """Whether a page is like ``not_found``, the response to a name that cannot exist: in its title and its text.

    It has the same words, and no picture or frame that ``not_found`` has not. If the text of such responses
    ``varies``, as recommended products do, the words may differ: then the tags are the same, and both say in the same
    phrase that the page does not exist.
    """
    if not has_title(page, not_found) or page.markup == not_found.markup:
        return has_title(page, not_found)
    text = _without_own(page.text.elements(), page, not_found)
    if Counter(text) == Counter(_without_own(not_found.text.elements(), page, not_found)):
        return len(text) >= MIN_WORDS and set(_media(page.markup)) <= set(_media(not_found.markup))
    is_template = varies and _tag_name(page.markup) == _tag_name(not_found.markup)
    return is_template and not page.phrases.isdisjoint(not_found.phrases)


def is_titled_not_found(url: Url, title: str) -> bool:
    """Whether a title says that nothing is there, and no more. A film of this name is at a URL of its name."""
    words = _words(title)
    return " ".join(words) in _PHRASES and not {*words} <= {*_words(unquote(path_of(url)))}


def says_nothing_else(page: PageWords) -> bool:
    """Whether a page with such a title says the same in its text, and hardly more."""
    text = _title.sub("", page.markup)
    return (
        page.text.total() <= MAX_WORDS
        and not _media(text)
        and _denies(unescape(_tag.sub(" ", text)).lower()) is not None
    )


def _without_own(words: Iterable[str], page: PageWords, not_found: PageWords) -> list[str]:
    return [word for word in words if word not in page.own and word not in not_found.own]


def _words(text: str) -> list[str]:
    return _word.findall(text.lower())
