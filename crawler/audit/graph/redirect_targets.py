"""Suggests the page that should replace a dead URL: by its path, its words, and the title that it last had. Pure."""

import re
from collections.abc import Iterable
from math import prod
from typing import Final

from crawler.audit.finding import LinkSuggestion
from crawler.audit.graph.similarity import TitleIndex, index_urls_above, split_parent, title_words

MAX_TARGETS: Final = 3
_MIN_LIKENESS: Final = 0.4  # of a page that is suggested
_MAX_COMPARED: Final = 16  # pages with words in common that are compared
_SPELLING_LIKENESS: Final = 0.95  # the same path, but for upper case, a suffix or a slash at the end
_NAME_LIKENESS: Final = 0.85  # the same name in another directory
_TITLE_LIKENESS: Final = 0.9
_WORDS_LIKENESS: Final = 0.8  # all words in common
_INDEX_LIKENESS: Final = 0.25  # the nearest index above it: search engines may treat such a redirect as a soft 404
_MAX_NAMED_WORDS: Final = 3  # shared words in a reason

_suffix = re.compile(r"\.(?:s?html?|php\d?|aspx?|jsp)$", re.IGNORECASE)
_separators = re.compile(r"[\W_]+")

Likeness = dict[str, dict[str, float]]  # by the URL of a page, then by the reason


class RedirectTargets:
    """Indexes the indexable pages, given as URL and title; a suggestion then takes less than a millisecond."""

    def __init__(self, pages: Iterable[tuple[str, str]]) -> None:
        self._titles = dict(pages)
        self._urls = list(self._titles)
        self._words = TitleIndex((node, url, self._titles[url]) for node, url in enumerate(self._urls))
        self._by_name: dict[str, list[str]] = {}
        self._by_title: dict[str, list[str]] = {}
        for url, title in self._titles.items():
            self._by_name.setdefault(_name_key(url), []).append(url)
            self._by_title.setdefault(title.casefold(), []).append(url)

    def suggest(self, url: str, title: str = "") -> list[LinkSuggestion]:
        """The pages most like a dead URL, at most three, with a likeness from 0 to 1; none that is merely the start.

        ``title`` is the title that the URL had when it was last a page, "" if unknown. An index page above the URL is
        suggested only when no other page is like it.
        """
        likeness: Likeness = {}
        self._add_names(url, likeness)
        if title:
            same = self._by_title.get(title.casefold(), [])
            _add_all(likeness, same, "has the title that the URL had", _TITLE_LIKENESS)
        self._add_words(url, title, likeness)
        likeness.pop(url, None)
        scores = {page: 1 - prod(1 - score for score in reasons.values()) for page, reasons in likeness.items()}
        best = sorted(
            (page for page in scores if scores[page] >= _MIN_LIKENESS), key=lambda page: (-scores[page], page)
        )
        found = [
            LinkSuggestion(page, "; ".join(sorted(likeness[page], key=lambda why: -likeness[page][why])), scores[page])
            for page in best[:MAX_TARGETS]
        ]
        return found or self._index_above(url)

    def _add_names(self, url: str, likeness: Likeness) -> None:
        """The pages with the same last part of the path, if it says something."""
        if not title_words(url, ""):
            return
        same = [page for page in self._by_name.get(_name_key(url), []) if page != url]
        here = [page for page in same if _folder_key(page) == _folder_key(url)]
        _add_all(likeness, here, "is another spelling of its path", _SPELLING_LIKENESS)
        _add_all(likeness, [] if here else same, "has the same name in another directory", _NAME_LIKENESS)

    def _add_words(self, url: str, title: str, likeness: Likeness) -> None:
        """The pages that share the rare words of the URL and its title; words that no page has count against all."""
        words = self._words.rare_words(url, title)
        known = len(words) / max(1, len(title_words(url, title)))
        sharing = self._words.pages_sharing(words)
        for node in sorted(sharing, key=lambda node: (-sharing[node], node))[:_MAX_COMPARED]:
            page = self._urls[node]
            score, shared = self._words.similarity(words, page, self._titles[page])
            if score:
                examples = ", ".join(f"'{word}'" for word in shared[:_MAX_NAMED_WORDS])
                likeness.setdefault(page, {})[f"shares {examples}"] = _WORDS_LIKENESS * score * known

    def _index_above(self, url: str) -> list[LinkSuggestion]:
        for names in [*index_urls_above(url)][:-1]:  # the last ones are the start page
            for name in names:
                if name in self._titles:
                    return [
                        LinkSuggestion(name, "no page is like it; this is the nearest index above it", _INDEX_LIKENESS)
                    ]
        return []


def _add_all(likeness: Likeness, pages: list[str], reason: str, score: float) -> None:
    """Add a reason to pages that share it: the more there are, the less it says about each."""
    if len(pages) <= MAX_TARGETS:
        for page in pages:
            likeness.setdefault(page, {})[reason] = score / len(pages)


def _name_key(url: str) -> str:
    """The last part of the path in lower case, without its suffix and without what separates its words."""
    return _separators.sub("", _suffix.sub("", split_parent(url)[1].rstrip("/"))).lower()


def _folder_key(url: str) -> str:
    return split_parent(url)[0].lower()
