"""Suggests known URLs for an unknown one: other spellings of it, and similar ones. Pure."""

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Final
from urllib.parse import quote, unquote

from crawler.model import Url
from crawler.url.normalize import InvalidUrl, normalize_url

MAX_SUGGESTIONS: Final = 3
_INDEXES: Final = ("index.html", "index.htm", "index.php", "default.aspx", "index.jsp")
_ENDINGS: Final = (".html", ".htm", ".php")
_PUNCTUATION: Final = ".,;:!')"  # text around a pasted URL
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
    for change in (_slash, _scheme, _www, _index, _query, _ending, _written):
        for text, how in change(url):
            try:
                other = normalize_url(text)
            except InvalidUrl:
                continue
            if other != url:
                yield other, how


def _parts(url: Url) -> tuple[str, str, str]:
    """Origin, path and the rest."""
    address, separator, query = url.partition("?")
    start = address.index("/", 8)
    return address[:start], address[start:], f"{separator}{query}"


def _slash(url: Url) -> Iterator[tuple[str, str]]:
    origin, path, query = _parts(url)
    if path.endswith("/"):
        yield f"{origin}{path.rstrip('/')}{query}", "without the slash at the end"
    else:
        yield f"{origin}{path}/{query}", "with a slash at the end"


def _scheme(url: Url) -> Iterator[tuple[str, str]]:
    name, _, rest = url.partition(":")
    other = "http" if name == "https" else "https"
    yield f"{other}:{rest}", f"with {other}"


def _www(url: Url) -> Iterator[tuple[str, str]]:
    scheme, _, rest = url.partition("://")
    if rest.startswith("www."):
        yield f"{scheme}://{rest[4:]}", "without www"
    else:
        yield f"{scheme}://www.{rest}", "with www"


def _index(url: Url) -> Iterator[tuple[str, str]]:
    origin, path, query = _parts(url)
    directory, _, name = path.rpartition("/")
    if name.lower() in _INDEXES:
        yield f"{origin}{directory}/{query}", f"without {name}"
    elif not name:
        for index in _INDEXES:
            yield f"{origin}{path}{index}{query}", f"with {index}"


def _ending(url: Url) -> Iterator[tuple[str, str]]:
    origin, path, query = _parts(url)
    if path.endswith("/"):
        return
    for ending in _ENDINGS:
        if path.endswith(ending):
            yield f"{origin}{path.removesuffix(ending)}{query}", f"without {ending}"
    if "." not in path.rpartition("/")[2]:
        for ending in _ENDINGS:
            yield f"{origin}{path}{ending}{query}", f"with {ending}"
    while path[-1] in _PUNCTUATION:
        path = path[:-1]
        yield f"{origin}{path}{query}", "without the punctuation at the end"


def _query(url: Url) -> Iterator[tuple[str, str]]:
    if "?" in url:
        yield url.partition("?")[0], "without the query after the question mark"


def _written(url: Url) -> Iterator[tuple[str, str]]:
    """Reserved characters, plain or escaped: some servers tell them apart."""
    changes: tuple[Callable[[str], str], ...] = (
        lambda path: quote(unquote(path), safe="/!$&'()*+,;=:@"),
        lambda path: quote(unquote(path), safe="/"),
    )
    origin, path, query = _parts(url)
    if "%2F" not in path:
        for change in changes:
            yield f"{origin}{change(path)}{query}", "with other characters escaped"
