"""Whether the language versions of a page are a sound cluster, by what all of them state. Pure; one page at a time.

https://developers.google.com/search/docs/specialty/international/localized-versions : versions name one another and
themselves, each under its own language, and each is a page that can be indexed. HTML, Link headers and sitemaps are
equal ways of stating that, and what is stated in one of them is stated. What sitemaps alone get wrong among themselves
(no self, no link back, no x-default) is lint's to tell: :data:`sitemap.RULES`, ``hreflang.*``.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, Protocol

from msgspec import Struct

from crawler.audit.finding import AuditFinding, Referrer
from crawler.audit.health.visit import VisitedUrl, why_no_page
from crawler.model import State
from sitemap import Alternate

X_DEFAULT: Final = "x-default"


_tag = re.compile(
    r"([a-z]{2})(?:-[a-z]{3}){0,3}(?:-([a-z]{4}))?(?:-([a-z]{2}|[0-9]{3}))?(?:-.*)?", re.ASCII | re.IGNORECASE
).fullmatch

# Codes that mean what another one means, or a part of it (ISO 639-1 and its changes).
_SAME_LANGUAGE: Final = {
    "iw": "he",
    "in": "id",
    "ji": "yi",
    "jw": "jv",
    "mo": "ro",
    "nb": "no",
    "nn": "no",
    "tl": "fil",
}

_CHINESE: Final = {
    "CN": "Hans",
    "SG": "Hans",
    "TW": "Hant",
    "HK": "Hant",
    "MO": "Hant",
}  # what is written there


class Language(Struct, frozen=True):
    """A language, with script and region where they are stated, each in its usual case or ""."""

    name: str
    script: str = ""
    region: str = ""


def parse_language(text: str) -> Language | None:
    """What a tag means; None when it is no tag with a language of two letters, as hreflang takes them."""
    found = _tag(text.strip().replace("_", "-"))
    if found is None:
        return None
    name, script, region = found.groups()
    return Language(
        _SAME_LANGUAGE.get(name.lower(), name.lower()), (script or "").capitalize(), (region or "").upper()
    )


@lru_cache(maxsize=10_000)
def label_fits(label: str, stated: str) -> bool:
    """Whether a page that states a language can be named under a label; True whenever that is not sure.

    Script and region are compared only where both state one.
    """
    if label.lower() == X_DEFAULT:
        return True
    named, own = parse_language(label), parse_language(stated)
    if named is None or own is None:
        return True
    if named.name != own.name:
        return False
    if named.name == "zh":
        scripts = [each.script or _CHINESE.get(each.region, "") for each in (named, own)]
        if all(scripts) and scripts[0] != scripts[1]:
            return False
    elif named.script and own.script and named.script != own.script:
        return False
    both = named.region.isalpha() and own.region.isalpha()  # a number stands for several countries
    return not both or named.region == own.region


MAX_EVIDENCE: Final = 20  # sentences of one finding

MAX_COMPARED: Final = 200  # versions of one page that are compared with one another

_LEADING: Final = (State.REDIRECT, State.CANONICAL_ELSEWHERE)


class ListedHreflang(Struct, frozen=True):
    """What an entry of a sitemap states of a page's versions, in canonical form, and where."""

    file: str
    line: int
    alternates: tuple[Alternate, ...]

    @property
    def place(self) -> str:
        """``sitemap.xml line 12``."""
        return f"{self.file} line {self.line}" if self.line else self.file


class PageHreflang(Struct, frozen=True, kw_only=True):
    """What is known of one URL: how it was found to be, the language of its html element, and what it states.

    ``stated`` is what the page says in HTML and Link headers, ``listed`` what entries of sitemaps say of it. ``faults``
    are values of hreflang that name no language, in sentences. ``is_whole`` is False when not all of it was read.
    """

    visited: VisitedUrl
    language: str = ""
    own_alternates: tuple[Alternate, ...] = ()
    listed: tuple[ListedHreflang, ...] = ()
    faults: tuple[str, ...] = ()
    is_whole: bool = True

    @property
    def url(self) -> str:
        """The URL that it is about."""
        return self.visited.url

    @property
    def alternates(self) -> list[Alternate]:
        """All that is stated, anywhere, each once."""
        every = [*self.own_alternates, *(each for listed in self.listed for each in listed.alternates)]
        return list(dict.fromkeys(every))


class HreflangLink(Struct, frozen=True):
    """That a page (``by``) names another, ``url``, under a ``label``, and that one states another ``language``."""

    url: str
    by: str
    label: str
    language: str


class HreflangLookup(Protocol):
    """Knows all URLs."""

    def lookup(self, url: str) -> PageHreflang:
        """What is known of a URL in canonical form; of a URL that nobody asked for next to nothing."""


def check_hreflang_cluster(
    page: PageHreflang, others: HreflangLookup
) -> tuple[list[AuditFinding], list[HreflangLink]]:
    """What is wrong with the versions of an indexable page: one finding of a rule at most, with evidence for each.

    Which labels are wrong beyond what is told thereby is for :func:`is_mislabelled`, which wants all who name a page.
    """
    if not page.visited.is_page or not (page.own_alternates or page.faults or page.listed):
        return [], []
    judged = _ClusterChecks(page, others)
    rules = (
        ("cluster.code", judged.invalid_codes()),
        ("cluster.conflict", judged.conflicts()),
        ("cluster.target", judged.bad_targets()),
        ("cluster.not_mutual", judged.missing_return_links()),
        ("cluster.no_self", judged.missing_self_link()),
        ("cluster.swapped", judged.swapped_labels()),
        ("cluster.no_default", judged.missing_x_default()),
    )
    found = [_finding(rule, page, told, page.alternates) for rule, said in rules if (told := list(said))]
    return found, judged.wrong_labels()


def states_wrong_language(
    page: PageHreflang, namings: Sequence[HreflangLink], others: HreflangLookup
) -> bool:
    """Whether it is the page that states a wrong language, as most name it otherwise; else it is they who are wrong.

    ``namings`` are all those that are at odds with it.
    """
    wrong = {each.by for each in namings}
    fair = {page.url, *(each.href for each in page.alternates)} - wrong
    return len(wrong) > sum(_is_label_right(others.lookup(url), page) for url in fair)


def check_page_language(
    page: PageHreflang, namings: Sequence[HreflangLink], others: HreflangLookup
) -> AuditFinding:
    """That a page states another language than it is named for."""
    said = []
    for each in namings:
        who = "it calls itself" if each.by == page.url else f"{each.by} names it for"
        said.append((f'its html element says lang="{each.language}", and {who} {each.label}', each.by))
    return _finding("cluster.label", page, said, others.lookup(namings[0].by).alternates)


def check_hreflang_labels(page: PageHreflang, namings: Sequence[HreflangLink]) -> AuditFinding:
    """That a page names others for languages that are not theirs."""
    said = [
        (f'{each.url} is named for {each.label}, and its html element says lang="{each.language}"', each.url)
        for each in namings
    ]
    return _finding("cluster.label", page, said, page.alternates)


def _is_label_right(page: PageHreflang, other: PageHreflang) -> bool:
    return any(
        each.href == other.url
        and each.hreflang.lower() != X_DEFAULT
        and label_fits(each.hreflang, other.language)
        for each in page.alternates
    )


def _finding(
    rule: str, page: PageHreflang, said: list[tuple[str, str]], named: list[Alternate]
) -> AuditFinding:
    """A finding of what was said: pairs of a sentence and the URL it is about. ``named`` are the versions."""
    more = len(said) - 1
    versions = [url for _, url in said if url and url != page.url]
    return AuditFinding(
        rule=rule,
        url=page.url,
        sentence=said[0][0] + (f", and {more:,} more like this" if more else ""),
        title=page.visited.title,
        state=page.visited.state,
        status=page.visited.status,
        referrers=[Referrer(url, "version") for url in dict.fromkeys(versions)][:MAX_EVIDENCE],
        evidence=[sentence for sentence, _ in said[:MAX_EVIDENCE]],
        group=_group(page.url, named),
        file=page.listed[0].file if page.listed else "",
        line=page.listed[0].line if page.listed else 0,
    )


def _group(url: str, named: list[Alternate]) -> str:
    """By what a cluster is known: its x-default, or the first of its URLs in order."""
    default = next((each.href for each in named if each.hreflang.lower() == X_DEFAULT), "")
    return default or min((each.href for each in named), default=url)


class _ClusterChecks:
    """One page with its versions, looked up once."""

    def __init__(self, page: PageHreflang, others: HreflangLookup) -> None:
        self._page = page
        self._others = others
        self._named = page.alternates
        self._labels: dict[str, list[str]] = {}  # of each URL
        for each in self._named:
            self._labels.setdefault(each.href, []).append(each.hreflang)
        self._wrong = list(self._mislabelled())
        self._swapped: set[tuple[str, str]] = set()

    def invalid_codes(self) -> Iterator[tuple[str, str]]:
        """What the page calls a language and is none."""
        return ((fault, "") for fault in self._page.faults)

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Labels that lead to several URLs: in one place, or in two that disagree."""
        places = [("the page", self._page.own_alternates)]
        places += [(each.place, each.alternates) for each in self._page.listed]
        known: dict[str, tuple[str, str]] = {}
        for place, alternates in places:
            is_page = place == "the page"
            for each in alternates:
                before, href = known.setdefault(each.hreflang.lower(), (place, each.href))
                if href == each.href or (before == place and not is_page):  # within one entry it is lint's
                    continue
                if before == place:
                    yield f"the page names two URLs for {each.hreflang}: {href} and {each.href}", each.href
                else:
                    yield f"for {each.hreflang} {before} names {href}, and {place} {each.href}", each.href

    def bad_targets(self) -> Iterator[tuple[str, str]]:
        """Versions that are no pages to be named."""
        for url, labels in self._labels.items():
            if url != self._page.url and (fault := why_no_page(self._others.lookup(url).visited)):
                yield f"{url}, named for {_join_with_and(labels)}, {fault}", url

    def missing_return_links(self) -> Iterator[tuple[str, str]]:
        """Versions that the page itself names and that do not name it."""
        for url in dict.fromkeys(each.href for each in self._page.own_alternates):
            if url == self._page.url:
                continue
            other = self._others.lookup(url)
            if other.visited.is_page and other.is_whole and not self._names(other, self._page.url):
                named = [each.href for each in other.alternates if each.href != url]
                says = (
                    f"names {_join_with_and(named[:2])}{' and others' if named[2:] else ''}"
                    if named
                    else "names none"
                )
                yield (
                    f"{url}, named for {_join_with_and(self._labels[url])}, does not name this page back: it {says}",
                    url,
                )

    def missing_self_link(self) -> Iterator[tuple[str, str]]:
        """That the page names others and not itself."""
        others = [each.href for each in self._page.own_alternates if each.href != self._page.url]
        if others and self._page.is_whole and not self._names(self._page, self._page.url):
            yield f"the page names {_count_urls(others)} and not itself", ""

    def swapped_labels(self) -> Iterator[tuple[str, str]]:
        """Pairs of versions of which each states the language that the other is named for."""
        wrong = self._wrong[:MAX_COMPARED]
        for number, (label, url, own) in enumerate(wrong):
            for other_label, other, others_own in wrong[number + 1 :]:
                if url != other and label_fits(label, others_own) and label_fits(other_label, own):
                    self._swapped |= {(label, url), (other_label, other)}
                    said = f"{url} is named for {label} and says {own}, {other} for {other_label} and says {others_own}"
                    yield said, other

    def wrong_labels(self) -> list[HreflangLink]:
        """Versions that state another language than they are named for; to be asked after :meth:`swapped`."""
        return [
            HreflangLink(url, self._page.url, label, own)
            for label, url, own in self._wrong
            if (label, url) not in self._swapped
        ]

    def missing_x_default(self) -> Iterator[tuple[str, str]]:
        """That nothing is named for all other languages; said once for a cluster."""
        labels = {each.hreflang.lower() for each in self._page.own_alternates}
        if len(labels) < 2 or any(each.hreflang.lower() == X_DEFAULT for each in self._named):
            return
        if not self._page.is_whole or any(
            self._is_reported_elsewhere(each.href) for each in self._page.own_alternates
        ):
            return
        yield f"{len(labels)} languages are named, and no x-default", ""

    def _is_reported_elsewhere(self, url: str) -> bool:
        """Whether another version, before this page in order, says the same of the cluster."""
        if url >= self._page.url:
            return False
        other = self._others.lookup(url)
        return other.visited.is_page and any(each.href == self._page.url for each in other.own_alternates)

    def _mislabelled(self) -> Iterator[tuple[str, str, str]]:
        """Label, URL and own language of versions that state another."""
        for each in self._named:
            other = self._page if each.href == self._page.url else self._others.lookup(each.href)
            if other.visited.is_page and other.language and not label_fits(each.hreflang, other.language):
                yield each.hreflang, each.href, other.language

    def _names(self, page: PageHreflang, url: str) -> bool:
        """Whether a page names a URL, be it by way of another that leads there."""
        named = {each.href for each in page.alternates}
        if url in named or len(named) > MAX_COMPARED:  # among so many it may well be
            return True
        return any(self._leads_to(each, url) for each in named)

    def _leads_to(self, url: str, to: str) -> bool:
        visited = self._others.lookup(url).visited
        return visited.state in _LEADING and to in (visited.target, visited.last.url)


def _join_with_and(texts: list[str]) -> str:
    return " and ".join(dict.fromkeys(texts))


def _count_urls(urls: list[str]) -> str:
    many = len(set(urls))
    return f"{many:,} other versions" if many > 1 else f"one other version ({urls[0]})"
