"""URLs that a person may have meant: the same one in another spelling, and the most alike of those that are known."""

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Final
from urllib.parse import quote, unquote

from crawler.model import Url
from crawler.url.normalize import InvalidUrl, normalize_url

MAX_SUGGESTIONS: Final = 3  # that are named
_INDEXES: Final = ("index.html", "index.htm", "index.php", "default.aspx", "index.jsp")
_ENDINGS: Final = (".html", ".htm", ".php")
_PUNCTUATION: Final = ".,;:!')"  # that end a sentence or what stands in brackets
_MIN_SIMILARITY: Final = 0.75  # of 1, the ratio of difflib


def other_spellings(url: Url) -> dict[Url, str]:
    """Other spellings of a URL with what differs in them, nearest first: one difference, or two."""
    found: dict[Url, str] = {}
    once = list(_one_difference(url))
    for other, how in once:
        found.setdefault(other, how)
    for other, how in once:
        for further, then in _one_difference(other):
            found.setdefault(further, f"{how}, {then}")
    found.pop(url, None)
    return found


def nearest_urls(
    url: Url, spelled: dict[Url, str], known: Sequence[Url], neighbours: Sequence[Url]
) -> list[tuple[Url, str]]:
    """The known URLs that a person may have meant, with what differs: other spellings, else what looks alike.

    ``known`` are those that are one of ``spelled`` or the URL itself, in upper or lower case; ``neighbours`` begin like
    the URL, up to the last slash of its path.
    """
    order = {
        text.lower(): (number, how) for number, (text, how) in reversed(list(enumerate(spelled.items())))
    }
    order[url.lower()] = (-1, "")
    ranked = sorted(
        (order[each.lower()], each not in spelled, each) for each in known if each.lower() in order
    )
    if ranked:
        named = [
            (each, _join_with_and(how, "in another case" if cased else ""))
            for (_, how), cased, each in ranked
        ]
        return named[:MAX_SUGGESTIONS]
    start = url.partition("?")[0].rindex("/") + 1
    alike = get_close_matches(
        url[start:], [each[start:] for each in neighbours], n=MAX_SUGGESTIONS, cutoff=_MIN_SIMILARITY
    )
    return [(Url(url[:start] + each), "looks alike") for each in alike]


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
    where, mark, query = url.partition("?")
    start = where.index("/", 8)
    return where[:start], where[start:], f"{mark}{query}"


def _slash(url: Url) -> Iterator[tuple[str, str]]:
    home, path, query = _parts(url)
    if path.endswith("/"):
        yield f"{home}{path.rstrip('/')}{query}", "without the slash at the end"
    else:
        yield f"{home}{path}/{query}", "with a slash at the end"


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
    home, path, query = _parts(url)
    directory, _, name = path.rpartition("/")
    if name.lower() in _INDEXES:
        yield f"{home}{directory}/{query}", f"without {name}"
    elif not name:
        for each in _INDEXES:
            yield f"{home}{path}{each}{query}", f"with {each}"


def _ending(url: Url) -> Iterator[tuple[str, str]]:
    home, path, query = _parts(url)
    if path.endswith("/"):
        return
    for each in _ENDINGS:
        if path.endswith(each):
            yield f"{home}{path.removesuffix(each)}{query}", f"without {each}"
    if "." not in path.rpartition("/")[2]:
        for each in _ENDINGS:
            yield f"{home}{path}{each}{query}", f"with {each}"
    while path[-1] in _PUNCTUATION:
        path = path[:-1]
        yield f"{home}{path}{query}", "without the signs at the end"


def _query(url: Url) -> Iterator[tuple[str, str]]:
    if "?" in url:
        yield url.partition("?")[0], "without what follows the question mark"


def _written(url: Url) -> Iterator[tuple[str, str]]:
    """Reserved characters may stand as they are or be escaped, which is not the same to every server."""
    changes: tuple[Callable[[str], str], ...] = (
        lambda path: quote(unquote(path), safe="/!$&'()*+,;=:@"),
        lambda path: quote(unquote(path), safe="/"),
    )
    home, path, query = _parts(url)
    if "%2F" not in path:
        for change in changes:
            yield f"{home}{change(path)}{query}", "with other characters escaped"
