"""URL templates: which URLs a site generates without end, by which template, and what a page of it contains. Pure.

A URL is *generated* when the page it is discovered on has the same template: the next day of a calendar, the same list
with one more filter, a page below a session id that links to itself under another one. Real pages are discovered like
this too (articles that only link to articles, the next page of a list), so a generated URL alone is no trap. It is a
trap when its pages have nothing new: no word, picture or page that the ones before them do not have. Search engines
describe such spaces
(https://developers.google.com/search/blog/2008/08/to-infinity-and-beyond-no ,
https://developers.google.com/crawling/docs/faceted-navigation) and leave it to the site to close them.
"""

import re
import shlex
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from crawler.model import Url
from crawler.url.scope import ECHO

TRAP_PREFIX: Final = "trap.template: "
"""The start of the reason of a URL that is left out because its template is endless."""
MAX_MARKUP_READ: Final = 200_000  # characters of a page
_NAMELESS: Final = "…"  # a parameter without a name
_ECHO_SEGMENT: Final = "…/"  # the template of all paths that repeat their own segments
_MONTHS: Final = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
_varies = re.compile("[0-9?]").search
_figure = re.compile(rf"[0-9]++|(?<![a-z])(?:{_MONTHS})(?![a-z])", re.IGNORECASE).sub
_date = re.compile(rf"/[12][0-9]{{3}}(?:/(?:[0-3]?[0-9]|{_MONTHS}))+(?![^/])", re.IGNORECASE)
_token = re.compile(
    r"(?:[A-Za-z_]{1,12}[=-])?(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
    r"|(?:\([A-Z]\()?(?=(?:[A-Za-z]*[0-9]){3})[0-9A-Za-z]{16,})"
).match
_dated = re.compile(
    rf"(?<![0-9])[12][0-9]{{3}}(?:[-/.](?:0?[1-9]|1[0-2]|{_MONTHS})(?![0-9a-z])|(?:0[1-9]|1[0-2])[0-3][0-9](?![0-9]))"
    r"|[?&](?:amp;)*(?:year|month|week|day|date)=",
    re.IGNORECASE,
).search


class UrlTemplate(NamedTuple):
    """The common form of similar URLs: ``path`` with figures and dates as ``#``, and the ``names`` of its query.

    The days of a month have the template of the month, and months that of the year.
    """

    path: str
    names: str = ""  # sorted, each once, with an & between; "" is none

    def __str__(self) -> str:
        if not self.names:
            return self.path
        return f"{self.path}?{'&'.join(f'{name}=…' for name in self.names.split('&'))}"


@lru_cache(maxsize=64)  # the same page is the parent of many new URLs
def template_of(url: str) -> UrlTemplate:
    """The template of a URL. Linear in the URL."""
    start = url.index("/", 8)
    if not _varies(url, start):
        return UrlTemplate(url)
    address, _, query = url.partition("?")
    names = "&".join(sorted({_name(pair) for pair in query.split("&")})) if query else ""
    parts = address[start:].split("/")
    for number, part in enumerate(parts):
        if len(part) >= 16 and _token(part):
            return UrlTemplate(url[:start] + _figure("#", "/".join(parts[:number])) + "/<token>", names)
    return UrlTemplate(url[:start] + _figure("#", _date.sub("/#", address[start:])), names)


def _name(pair: str) -> str:
    """The name of a parameter without what grows (``amp;amp;a``) or counts (``f[12]``)."""
    name = pair.partition("=")[0]
    while name.startswith("amp;"):
        name = name[4:]
    return _figure("#", name) or _NAMELESS


def shared_template(url: str, parent: str, knows: Callable[[str], bool]) -> UrlTemplate | None:
    """The template of a new URL that its parent page generates, else None.

    One parameter more or less keeps the template, as long as one is left. A path is generated too when it repeats,
    below the page, a path that ``knows`` says to exist beside the page: relative links such as ``news/about/``,
    ``news/about/news/`` … have no end.
    """
    if _varies(url, url.index("/", 8)):
        own, other = template_of(url), template_of(parent)
        if own.path == other.path and own.path != url and bool(own.names) == bool(other.names):
            names, others = set(own.names.split("&")), set(other.names.split("&"))
            if names <= others or others <= names:
                return own
    return _echo_template(url, parent, knows)


def _echo_template(url: str, parent: str, knows: Callable[[str], bool]) -> UrlTemplate | None:
    here = parent.partition("?")[0].rpartition("/")[0]
    if not url.startswith(f"{here}/"):
        return None
    tail = url[len(here) + 1 :]
    start = url.index("/", 8)
    if len(here) <= start or "/" not in tail or _varies(tail):
        return None
    above = here.rpartition("/")[0]
    segments = [part for part in url[start:].split("/") if not _varies(part) and part]
    if len(set(segments)) < len(segments) or knows(f"{above}/{tail}"):
        return UrlTemplate(f"{url[:start]}/{_ECHO_SEGMENT}")
    return None


_links_and_tags = re.compile(r"<a\b.*?(?:</a\s*+>|\Z)|<[^>]*+>?", re.DOTALL | re.IGNORECASE).sub
_word = re.compile(r"[^\W\d_]{2,60}").findall
_picture = re.compile(r"(?<![\w%-])[\w%-]{1,100}+\.(?:jpe?g|png|gif|webp|avif)\b", re.IGNORECASE).findall
_DATES: Final = frozenset(
    _word(
        "jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october "
        "nov november dec december mon monday tue tues tuesday wed wednesday thu thur thurs thursday fri friday "
        "sat saturday sun sunday"
    )
)


class TemplatePage(NamedTuple):
    """A page of a template. ``markup`` is "" unless it is indexable.

    ``brought`` are indexable URLs that were first discovered on it and are not generated.
    """

    url: Url
    markup: str
    brought: tuple[Url, ...] = ()


def page_contents(page: TemplatePage) -> set[str]:
    """The contents of a page: words (not of links, dates or its own URL), names of pictures, URLs it brought.

    Of a URL with a date only the template counts, because the days of a calendar are no news.
    """
    contents = {template_of(url).path if _dated(url, url.index("/", 8)) else url for url in page.brought}
    if page.markup:
        markup = page.markup[:MAX_MARKUP_READ]
        contents.update(_picture(markup))
        contents |= {*_word(_links_and_tags(" ", markup).lower())} - {*_word(page.url.lower())} - _DATES
    return contents


def trap_reason(template: UrlTemplate, others: int) -> str:
    """Why a URL is left out, in a sentence; ``others`` of its template were found before."""
    return f"{TRAP_PREFIX}{others:,} URLs like {template} had already been found on pages of the same kind"


def exclude_remedy(templates: list[UrlTemplate], url: str) -> str:
    """The flag that excludes all URLs of the templates of one path; ``url`` is one of them."""
    names = templates[0].names.split("&")
    if tokens := [name for name in names if _token(_value(url, name))]:
        return f"--drop-param {shlex.quote(tokens[0])}"
    return f"--exclude {shlex.quote(f're:{_expression(templates, url)}')}"


def _expression(templates: list[UrlTemplate], url: str) -> str:
    path, names = templates[0]
    if path.endswith(f"/{_ECHO_SEGMENT}"):
        return ECHO
    figures = r"[\w/]+" if _date.search(url) else r"\w+"
    pattern = "^" + re.escape(path).replace(r"\#", "#").replace("#", figures).replace("<token>", "[^/]{16,}")
    if not names:
        return pattern if path.endswith("<token>") else f"{pattern}$"
    if len(templates) > 1:
        fewest = min(template.names.count("&") for template in templates)
        return rf"{pattern}\?([^&]*&){{{fewest}}}"
    spelt = [re.escape(name).replace(r"\#", r"\w+") for name in names.split("&") if name != _NAMELESS]
    return pattern + r"\?" + "".join(f"(?=(.*&)?(amp;)*{name}(=|&|$))" for name in spelt)


def exclude_remedy_of(url: str, reason: str) -> str:
    """The same flag for a URL that was left out for this reason; "" for a reason of another kind."""
    if not reason.startswith(TRAP_PREFIX):
        return ""
    is_echo = f"/{_ECHO_SEGMENT} " in reason
    return exclude_remedy([UrlTemplate(f"/{_ECHO_SEGMENT}") if is_echo else template_of(url)], url)


def _value(url: str, name: str) -> str:
    pairs = (pair.partition("=") for pair in url.partition("?")[2].split("&"))
    return next((value for key, _, value in pairs if key == name), "")


def trap_note(templates: list[UrlTemplate], url: str, read: int, vain: int) -> str:
    """The note on the endless templates of one path, once for all of their URLs."""
    more = f" (and {len(templates) - 1:,} more like it)" if len(templates) > 1 else ""
    return (
        f"{templates[0]}{more} is an infinite URL space: {read:,} such pages were read, and the last {vain:,} of "
        f"them had nothing new. The rest was left out, such as {url}. {exclude_remedy(templates, url)} excludes all "
        f"such pages, and --set scope.trap_limit=0 crawls all of them"
    )
