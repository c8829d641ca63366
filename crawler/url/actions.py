"""Which URLs change something when they are requested: log out, unsubscribe, vote, add to a basket. Pure.

GET is safe by definition (https://www.rfc-editor.org/rfc/rfc9110#section-9.2.1), but the same section warns of sites
that put actions behind it. Crawlers and link checkers have logged themselves out
(https://github.com/webrecorder/browsertrix-crawler/issues/642), unsubscribed people
(https://github.com/usesend/useSend/issues/412) and filled baskets (https://github.com/woocommerce/woocommerce/issues/25721).

A segment of a path, or the name of a parameter, is an action if it has nothing but words for an action and for what it
acts on: ``add-to-cart``, ``DeleteUser``, but not ``how-to-vote``. Below a folder of texts, such words are a subject:
``/docs/delete/``, ``/tag/vote``.
"""

import re
import tomllib
import unicodedata
from importlib.resources import files
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

from crawler.model import Url

_word = re.compile(r"[^\W\d_]+").findall
_divide = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])").sub  # DeleteUser
_change = re.compile(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])").findall
_MIN_RANDOM_LENGTH: Final = 20
_MAX_RUN: Final = 5  # characters of one kind (small, capital, digit) in a row, on average, of a random value
_may_act = re.compile(r"[^\W\d_]{2}|%").search
_year = re.compile(r"(?:19|20)\d\d").fullmatch
_MAX_LENGTH: Final = 200  # of an action; in characters


def words_of(text: str) -> list[str]:
    """The words of a text that may be escaped, without accents, in lower case."""
    parts = _word(_divide(" ", unicodedata.normalize("NFC", unquote(text))))
    plain = unicodedata.normalize("NFKD", " ".join(parts).casefold())
    return "".join(char for char in plain if not unicodedata.combining(char)).split()


def _set(text: str) -> frozenset[str]:
    return frozenset(words_of(text))


_WORDS: Final = {
    name: _set(text)
    for name, text in tomllib.loads((files("crawler.url") / "actions.toml").read_text(encoding="utf-8")).items()
}
_LOGOUTS: Final = _WORDS["logouts"]
ACTIONS: Final = _LOGOUTS | _WORDS["actions"]
PRESENTATION: Final = _WORDS["presentation"]


def is_random(value: str) -> bool:
    """Whether a long value looks random, as a token does."""
    return len(value) >= _MIN_RANDOM_LENGTH and len(_change(value)) * _MAX_RUN >= len(value)


# Nearly all paths have none of these, which takes a tenth of the time to see.
_HINTS: Final = ACTIONS | _set("log sign opt un cerrar terminar logga ta lagg")
_ascii_words = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])").findall
_is_plain = re.compile(r"[A-Za-z0-9_.~:/-]*+").fullmatch


def action_in(url: Url) -> str:
    """The part of a URL that names an action, or ""."""
    return _action(url, is_linked=False)


def linked_action_in(url: Url, directory: str = "") -> str:
    """The same of a URL that the site links: an action counts only with what it acts on, and a logout alone.

    What it acts on is a parameter other than those for lists and languages, or a number or token beside it at the end
    of the path. The path is judged below the ``directory`` of the site.
    """
    return _action(url, directory, is_linked=True)


def _action(url: Url, directory: str = "", *, is_linked: bool) -> str:
    if _is_plain(url) and _HINTS.isdisjoint(map(str.lower, _ascii_words(url))):
        return ""
    address, _, query = url.partition("?")
    names = []
    for pair in re.split("[&;]", query) if query else ():
        name, _, value = pair.partition("=")
        words, last = words_of(name), re.split(r"[/.]|%2F", value)[-1]
        names.append("".join(words))
        is_switch = bool(words) and words[-1] in _WORDS["switches"]
        is_free = names[-1] in PRESENTATION
        if _acts(name) or (is_switch and _acts(last)) or (not is_free and not _LOGOUTS.isdisjoint(_acts(last))):
            return unquote(pair)
    has_object = any(name not in PRESENTATION for name in names)
    below = directory if directory and address.startswith(directory) else address[: address.find("/", 8) + 1]
    segments = address.removeprefix(below).rstrip("/").split("/")
    for at, segment in enumerate(segments):
        if not (words := _acts(segment)) or (is_linked and not _WORDS["nouns"].isdisjoint(words)):
            continue
        is_last = at == len(segments) - 1
        if (has_object and is_last) or (at >= len(segments) - 2 and _has_id_beside(segments, at)):
            return unquote(segment)
        is_text = any(_WORDS["texts"].issuperset(words_of(above) or "?") for above in segments[:at])
        is_subject = is_text and ":" not in unquote(segment)  # of a wiki, Special:UserLogout is no text
        if not is_subject and (not is_linked or not _LOGOUTS.isdisjoint(words)):
            return unquote(segment)
    return ""


def _acts(text: str) -> list[str]:
    """The words of a segment or a name if it is an action, else none."""
    if len(text) > _MAX_LENGTH or not _may_act(text):
        return []
    plain = unquote(text)
    words = words_of(plain)
    joined = ["".join(words), *map("".join, pairwise(words))]
    is_whole = joined[0] in ACTIONS or all(word in ACTIONS or word in _WORDS["objects"] for word in words)
    is_action = is_whole and not ACTIONS.isdisjoint(words + joined)
    return words + joined if is_action and not any(map(str.isdigit, plain)) else []


def _has_id_beside(segments: list[str], at: int) -> bool:
    """Whether a number or a token stands beside a segment. A date is none."""
    if any(map(_year, segments[max(0, at - 3) : at + 2])):
        return False
    beside = segments[max(0, at - 1) : at] + segments[at + 1 : at + 2]
    return any(text.isdigit() or is_random(text) or "@" in text or "*" in text for text in beside)  # "*": masked
