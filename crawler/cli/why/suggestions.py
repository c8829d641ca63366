"""Suggests known URLs for an unknown one: other spellings of it, and similar ones. Pure."""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Final
from urllib.parse import quote, unquote

from crawler.model import Url
from crawler.url.normalize import InvalidUrl, normalize_url

MAX_SUGGESTIONS: Final = 3
_INDEXES: Final = ("index.html", "index.htm", "index.php", "default.aspx", "index.jsp")
_ENDINGS: Final = (".html", ".htm", ".php")
_ESCAPED: Final = "with other characters escaped"
_END: Final = r"(?=\?|$)"  # of the path
_CHANGES: Final = [
    (re.compile(pattern), new, how)
    for pattern, new, how in (
        (rf"(?<=[^/])/+{_END}", "", "without the slash at the end"),
        (rf"(?<=[^/]){_END}", "/", "with a slash at the end"),
        ("^https:", "http:", "with http"),
        ("^http:", "https:", "with https"),
        (r"//www\.", "//", "without www"),
        (r"//(?!www\.)", "//www.", "with www"),
        *((rf"(?i)/{re.escape(name)}{_END}", "/", f"without {name}") for name in _INDEXES),
        *((rf"/{_END}", f"/{name}", f"with {name}") for name in _INDEXES),
        (r"\?.*", "", "without the query after the question mark"),
        *((rf"{re.escape(ending)}{_END}", "", f"without {ending}") for ending in _ENDINGS),
        *((rf"(/[^/.?]+){_END}", rf"\1{ending}", f"with {ending}") for ending in _ENDINGS),
        (rf"[.,;:!')]{_END}", "", "without the punctuation at the end"),
    )
]
"""The differences between spellings: a pattern, what replaces its first match, and the difference in words."""
_MIN_SIMILARITY: Final = 0.75  # of 1, the ratio of difflib


def other_spellings(url: Url) -> dict[Url, str]:
    """Other spellings of a URL, each with its one or two differences, nearest first."""
    spellings: dict[Url, str] = {}
    once = list(_one_difference(url))
    for other, difference in once:
        spellings.setdefault(other, difference)
    for other, difference in once:
        for second, second_difference in _one_difference(other):
            spellings.setdefault(second, f"{difference}, {second_difference}")
    spellings.pop(url, None)
    return spellings


def nearest_urls(
    url: Url, spelled: dict[Url, str], known: Sequence[Url], neighbours: Sequence[Url]
) -> list[tuple[Url, str]]:
    """The known URLs that the user may mean, with the difference: other spellings, else similar ones.

    ``known`` are those that equal one of ``spelled`` or the URL itself, ignoring case; ``neighbours`` are in the
    directory of the URL.
    """
    order = {text.lower(): (number, how) for number, (text, how) in reversed(list(enumerate(spelled.items())))}
    order[url.lower()] = (-1, "")
    ranked = sorted((order[other.lower()], other not in spelled, other) for other in known if other.lower() in order)
    if ranked:
        named = [
            (other, _join_with_and(how, "with different upper and lower case" if cased else ""))
            for (_, how), cased, other in ranked
        ]
        return named[:MAX_SUGGESTIONS]
    start = url.partition("?")[0].rindex("/") + 1
    alike = get_close_matches(
        url[start:], [candidate[start:] for candidate in neighbours], n=MAX_SUGGESTIONS, cutoff=_MIN_SIMILARITY
    )
    return [(Url(url[:start] + candidate), "similar spelling") for candidate in alike]


def _join_with_and(first: str, second: str) -> str:
    return ", ".join(filter(None, (first, second)))


def _one_difference(url: Url) -> Iterator[tuple[Url, str]]:
    path = url.partition("?")[0]
    changed = [(pattern.sub(new, url, count=1), how) for pattern, new, how in _CHANGES if pattern.search(url)]
    if "%2F" not in path:  # reserved characters, plain or escaped: some servers tell them apart
        start = url.index("/", 8)
        plain, query = unquote(path[start:]), url[len(path) :]
        changed += [(f"{url[:start]}{quote(plain, safe=safe)}{query}", _ESCAPED) for safe in ("/!$&'()*+,;=:@", "/")]
    for text, how in changed:
        try:
            other = normalize_url(text)
        except InvalidUrl:
            continue
        if other != url:
            yield other, how
