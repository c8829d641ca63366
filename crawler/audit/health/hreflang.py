"""The rules ``cluster.*``: whether the language versions of a page form a sound hreflang cluster. Pure; page by page.

Each version names all versions and itself, each under its own language, and each is an indexable page. HTML, Link
headers and sitemaps count alike: https://developers.google.com/search/docs/specialty/international/localized-versions
Lint reports what is wrong within the sitemaps alone (no self, no link back, no x-default): :data:`sitemap.RULES`,
``hreflang.*``.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, Protocol

from msgspec import Struct

from crawler.audit.finding import AuditFinding, Referrer
from crawler.audit.health.visit import VisitedUrl, line_text, why_no_page
from crawler.model import State
from sitemap import Alternate

X_DEFAULT: Final = "x-default"
MAX_EVIDENCE: Final = 20  # sentences of one finding
MAX_COMPARED: Final = 200  # versions of one page that are compared with one another
_LEADING: Final = (State.REDIRECT, State.CANONICAL_ELSEWHERE)

_tag = re.compile(
    r"([a-z]{2})(?:-[a-z]{3}){0,3}(?:-([a-z]{4}))?(?:-([a-z]{2}|[0-9]{3}))?(?:-.*)?", re.ASCII | re.IGNORECASE
).fullmatch

# Codes that are synonyms or parts of another code (ISO 639-1 and its changes).
_SAME_LANGUAGE: Final = dict(
    pair.split("=") for pair in ("iw=he", "in=id", "ji=yi", "jw=jv", "mo=ro", "nb=no", "nn=no", "tl=fil")
)
# The script of Chinese by region.
_CHINESE: Final = dict.fromkeys(("CN", "SG"), "Hans") | dict.fromkeys(("TW", "HK", "MO"), "Hant")


class Language(Struct, frozen=True):
    """A language with its script and region, each in its usual case, or "" when the tag does not state it."""

    name: str
    script: str = ""
    region: str = ""


def parse_language(text: str) -> Language | None:
    """The language of a tag; None unless the tag begins with a language of two letters, as hreflang requires."""
    found = _tag(text.strip().replace("_", "-"))
    if found is None:
        return None
    name, script, region = found.groups()
    return Language(_SAME_LANGUAGE.get(name.lower(), name.lower()), (script or "").capitalize(), (region or "").upper())


@lru_cache(maxsize=10_000)
def label_fits(label: str, stated: str) -> bool:
    """Whether a label fits the language that a page states; True when that is uncertain.

    Script and region are compared only when both state one.
    """
    if label.lower() == X_DEFAULT:
        return True
    named, own = parse_language(label), parse_language(stated)
    if named is None or own is None:
        return True
    if named.name != own.name:
        return False
    if named.name == "zh":
        scripts = [tag.script or _CHINESE.get(tag.region, "") for tag in (named, own)]
        if all(scripts) and scripts[0] != scripts[1]:
            return False
    elif named.script and own.script and named.script != own.script:
        return False
    both = named.region.isalpha() and own.region.isalpha()  # a number stands for several countries
    return not both or named.region == own.region


class ListedHreflang(Struct, frozen=True):
    """The versions that a sitemap entry states, in canonical form, and the place of the entry."""

    file: str
    line: int
    alternates: tuple[Alternate, ...]

    @property
    def place(self) -> str:
        """``sitemap.xml line 12``."""
        return line_text(self.file, self.line)


class PageHreflang(Struct, frozen=True, kw_only=True):
    """One URL: the result of its visit, the language of its html element, and its hreflang statements.

    ``own_alternates`` come from the HTML and the Link headers of the page, ``listed`` from sitemap entries. ``faults``
    are sentences about hreflang values that name no language. ``is_whole`` is False when only a part was read.
    """

    visited: VisitedUrl
    language: str = ""
    own_alternates: tuple[Alternate, ...] = ()
    listed: tuple[ListedHreflang, ...] = ()
    faults: tuple[str, ...] = ()
    is_whole: bool = True

    @property
    def url(self) -> str:
        """The URL of the page."""
        return self.visited.url

    @property
    def alternates(self) -> list[Alternate]:
        """All stated versions, each once."""
        listed = (alternate for entry in self.listed for alternate in entry.alternates)
        return list(dict.fromkeys((*self.own_alternates, *listed)))


class HreflangLink(Struct, frozen=True):
    """A wrong label: the page ``by`` names ``url`` under ``label``, and ``url`` states the other ``language``."""

    url: str
    by: str
    label: str
    language: str


class HreflangLookup(Protocol):
    """Looks up URLs of the site."""

    def lookup(self, url: str) -> PageHreflang:
        """The data of a URL in canonical form; nearly empty for a URL that the crawl did not request."""


def check_hreflang_cluster(page: PageHreflang, others: HreflangLookup) -> tuple[list[AuditFinding], list[HreflangLink]]:
    """The findings about the versions of an indexable page, at most one for each rule, and the other wrong labels.

    :func:`states_wrong_language` decides about wrong labels, by all pages that name the same URL.
    """
    if not page.visited.is_page or not (page.own_alternates or page.faults or page.listed):
        return [], []
    checks = _ClusterChecks(page, others)
    rules: tuple[tuple[str, Iterator[tuple[str, ...]]], ...] = (
        ("cluster.code", checks.invalid_codes()),
        ("cluster.conflict", checks.conflicts()),
        ("cluster.target", checks.bad_targets()),
        ("cluster.not_mutual", checks.missing_return_links()),
        ("cluster.no_self", checks.missing_self_link()),
        ("cluster.swapped", checks.swapped_labels()),
        ("cluster.no_default", checks.missing_x_default()),
    )
    findings = [_finding(rule, page, faults, page.alternates) for rule, found in rules if (faults := list(found))]
    return findings, checks.wrong_labels()


def states_wrong_language(page: PageHreflang, links: Sequence[HreflangLink], others: HreflangLookup) -> bool:
    """Whether the page states a wrong language, because most pages name it under another; else their labels are wrong.

    ``links`` are all links whose label contradicts the page.
    """
    contradicting = {link.by for link in links}
    agreeing = {page.url, *(alternate.href for alternate in page.alternates)} - contradicting
    return len(contradicting) > sum(_is_label_right(others.lookup(url), page) for url in agreeing)


def check_page_language(page: PageHreflang, links: Sequence[HreflangLink], others: HreflangLookup) -> AuditFinding:
    """The finding that a page states another language than its labels."""
    faults = []
    for link in links:
        naming = "it lists itself as" if link.by == page.url else f"{link.by} lists it as"
        faults.append((f'its html element states lang="{link.language}", but {naming} {link.label}', link.by))
    return _finding("cluster.label", page, faults, others.lookup(links[0].by).alternates)


def check_hreflang_labels(page: PageHreflang, links: Sequence[HreflangLink]) -> AuditFinding:
    """The finding that a page names others under languages that they do not have."""
    faults = [
        (f'{link.url} is labelled {link.label}, but its html element states lang="{link.language}"', link.url)
        for link in links
    ]
    return _finding("cluster.label", page, faults, page.alternates)


def _is_label_right(page: PageHreflang, other: PageHreflang) -> bool:
    return any(
        alternate.href == other.url
        and alternate.hreflang.lower() != X_DEFAULT
        and label_fits(alternate.hreflang, other.language)
        for alternate in page.alternates
    )


def _finding(
    rule: str, page: PageHreflang, faults: Sequence[tuple[str, ...]], alternates: list[Alternate]
) -> AuditFinding:
    """A finding of several faults: each is a sentence and the URLs that it is about."""
    more = len(faults) - 1
    versions = [*dict.fromkeys(url for _, *urls in faults for url in urls if url not in ("", page.url))]
    return AuditFinding(
        rule=rule,
        url=page.url,
        sentence=faults[0][0] + (f", and {more:,} more like this" if more else ""),
        title=page.visited.title,
        state=page.visited.state,
        status=page.visited.status,
        referrers=[Referrer(url, "version") for url in versions[:MAX_EVIDENCE]],
        rests_on=[] if rule == "cluster.conflict" else versions,  # what the page and the sitemap state is enough
        evidence=[sentence for sentence, *_ in faults[:MAX_EVIDENCE]],
        group=_group(page.url, alternates),
        file=page.listed[0].file if page.listed else "",
        line=page.listed[0].line if page.listed else 0,
    )


def _group(url: str, alternates: list[Alternate]) -> str:
    """The name of a cluster: its x-default, or the first of its URLs in order."""
    default = next((version.href for version in alternates if version.hreflang.lower() == X_DEFAULT), "")
    return default or min((version.href for version in alternates), default=url)


class _ClusterChecks:
    """The checks of one page. Each yields its faults: a sentence, and the URLs that it is about or ""."""

    def __init__(self, page: PageHreflang, others: HreflangLookup) -> None:
        self._page = page
        self._others = others
        self._named = page.alternates
        self._labels: dict[str, list[str]] = {}  # of each URL
        for alternate in self._named:
            self._labels.setdefault(alternate.href, []).append(alternate.hreflang)
        self._wrong = list(self._mislabelled())
        self._swapped: set[tuple[str, str]] = set()

    def invalid_codes(self) -> Iterator[tuple[str, str]]:
        """Codes that name no language."""
        return ((fault, "") for fault in self._page.faults)

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Labels that name several URLs: in one place, or in two."""
        places = [("the page", self._page.own_alternates)]
        places += [(entry.place, entry.alternates) for entry in self._page.listed]
        known: dict[str, tuple[str, str]] = {}
        for place, alternates in places:
            is_page = place == "the page"
            for label, url in ((version.hreflang, version.href) for version in alternates):
                first_place, first_url = known.setdefault(label.lower(), (place, url))
                if first_url == url or (first_place == place and not is_page):  # lint checks single entries
                    continue
                if first_place == place:
                    yield f"the page lists two URLs for {label}: {first_url} and {url}", url
                else:
                    yield f"for {label}, {first_place} lists {first_url}, but {place} lists {url}", url

    def bad_targets(self) -> Iterator[tuple[str, str]]:
        """Versions that are no indexable pages."""
        for url, labels in self._labels.items():
            if url != self._page.url and (fault := why_no_page(self._others.lookup(url).visited)):
                yield f"{url}, labelled {_join_with_and(labels)}, {fault}", url

    def missing_return_links(self) -> Iterator[tuple[str, str]]:
        """Versions that the page names and that do not name it back."""
        for url in dict.fromkeys(version.href for version in self._page.own_alternates):
            if url == self._page.url:
                continue
            other = self._others.lookup(url)
            if other.visited.is_page and other.is_whole and not self._names(other, self._page.url):
                urls = [version.href for version in other.alternates if version.href != url]
                names = f"{_join_with_and(urls[:2])}{' and others' if urls[2:] else ''}" if urls else "none"
                labels = _join_with_and(self._labels[url])
                yield f"{url}, labelled {labels}, does not list this page in return: it lists {names}", url

    def missing_self_link(self) -> Iterator[tuple[str, str]]:
        """The fault that the page names others and not itself."""
        others = [version.href for version in self._page.own_alternates if version.href != self._page.url]
        if others and self._page.is_whole and not self._names(self._page, self._page.url):
            many = len(set(others))
            versions = f"{many:,} other versions" if many > 1 else f"one other version ({others[0]})"
            yield f"the page lists {versions}, but not itself", ""

    def swapped_labels(self) -> Iterator[tuple[str, str, str]]:
        """Pairs of versions where each states the language of the other's label."""
        wrong = self._wrong[:MAX_COMPARED]
        for number, (label, url, own) in enumerate(wrong):
            for other_label, other, others_own in wrong[number + 1 :]:
                if url != other and label_fits(label, others_own) and label_fits(other_label, own):
                    self._swapped |= {(label, url), (other_label, other)}
                    first, second = (
                        f"{url} is labelled {label} but states {own}",
                        f"and {other} is labelled {other_label}",
                    )
                    yield f"{first}, {second} but states {others_own}", other, url

    def wrong_labels(self) -> list[HreflangLink]:
        """Versions that state another language than their label; call it after :meth:`swapped_labels`."""
        return [
            HreflangLink(url, self._page.url, label, own)
            for label, url, own in self._wrong
            if (label, url) not in self._swapped
        ]

    def missing_x_default(self) -> Iterator[tuple[str, str]]:
        """The fault that a cluster has no x-default; one page of the cluster reports it."""
        labels = {version.hreflang.lower() for version in self._page.own_alternates}
        if len(labels) < 2 or any(version.hreflang.lower() == X_DEFAULT for version in self._named):
            return
        if self._page.is_whole and not any(self._is_reported_at(version.href) for version in self._page.own_alternates):
            yield f"the page lists {len(labels)} languages, but no x-default", ""

    def _is_reported_at(self, url: str) -> bool:
        """Whether another version, which comes first in order, reports the same of the cluster."""
        if url >= self._page.url:
            return False
        other = self._others.lookup(url)
        return other.visited.is_page and any(version.href == self._page.url for version in other.own_alternates)

    def _mislabelled(self) -> Iterator[tuple[str, str, str]]:
        """Label, URL and own language of the versions that contradict their label."""
        for version in self._named:
            other = self._page if version.href == self._page.url else self._others.lookup(version.href)
            if other.visited.is_page and other.language and not label_fits(version.hreflang, other.language):
                yield version.hreflang, version.href, other.language

    def _names(self, page: PageHreflang, url: str) -> bool:
        """Whether a page names a URL, or another URL that leads to it."""
        urls = {version.href for version in page.alternates}
        if url in urls or len(urls) > MAX_COMPARED:  # one of so many may lead there
            return True
        return any(self._leads_to(named, url) for named in urls)

    def _leads_to(self, url: str, target: str) -> bool:
        visited = self._others.lookup(url).visited
        return visited.state in _LEADING and target in (visited.target, visited.last.url)


def _join_with_and(texts: list[str]) -> str:
    return " and ".join(dict.fromkeys(texts))
