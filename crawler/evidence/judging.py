"""Judges sitemaps that come from anywhere: each under its own name, and with the robots.txt of other hosts asked."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final

from sitemap import Child, CrossSubmits, Document, Entry, Finding, InvalidLocation, Linter

MAX_HOSTS: Final = 20  # whose robots.txt is asked


class Submits:
    """Whether the robots.txt of other hosts names the sitemap at hand, or an index that leads to it.

    ``fetch`` answers the content of a robots.txt, or None; without it nobody is asked.
    """

    def __init__(self, fetch: Callable[[str], bytes | None] | None) -> None:
        self.full = False
        self._fetch = fetch
        self._known: dict[str, bytes | None] = {}
        self._by_url: dict[str, CrossSubmits | None] = {}
        self._now: CrossSubmits | None = None

    def turn_to(self, document: Document) -> None:
        """A document's URLs will be asked about."""
        if document.url not in self._by_url:
            self._by_url[document.url] = self._submits(document)
        self._now = self._by_url[document.url]

    def vouched(self, url: str) -> bool:
        """Whether the document may list a URL of another origin."""
        return self._now is not None and self._now.vouched(url)

    def _submits(self, document: Document) -> CrossSubmits | None:
        indexes, above = [], document.parent
        while above is not None:
            indexes.append(above.url)
            above = above.parent
        try:
            return CrossSubmits(document.url, self._robots, filter(None, indexes))
        except InvalidLocation:
            return None

    def _robots(self, url: str) -> bytes | None:
        if url not in self._known:
            if self._fetch is None or len(self._known) >= MAX_HOSTS:
                self.full = self._fetch is not None
                return None
            self._known[url] = self._fetch(url)
        return self._known[url]


class Judging(Linter):
    """A linter that asks about each document under its own name. ``now`` is an aware datetime."""

    def __init__(self, submits: Submits, now: datetime) -> None:
        super().__init__(now, submits.vouched)
        self._submits = submits

    def items(self, document: Document, items: list[Entry | Child], line_of: Callable[[int], int]) -> None:
        """See :class:`sitemap.Linter`."""
        self._submits.turn_to(document)
        super().items(document, items, line_of)


def told(
    findings: Iterable[Finding], rules: Collection[str], unpacked: Collection[str], private: Collection[str]
) -> tuple[Finding, ...]:
    """The findings of these rules, without those that only came of the way on which a file was had.

    ``unpacked`` are files that the server called packed on the wire only, ``private`` the reasons why hosts were not
    asked: what says the same of such a host is told once for each file.
    """
    return tuple(_once_a_host(_chosen(findings, rules, unpacked), private))


def _chosen(
    findings: Iterable[Finding], rules: Collection[str], unpacked: Collection[str]
) -> Iterator[Finding]:
    for each in findings:
        if each.rule in rules and not (each.rule == "sitemap.mislabelled" and each.file in unpacked):
            yield each


def _once_a_host(findings: Iterable[Finding], refused: Collection[str]) -> Iterator[Finding]:
    once: dict[tuple[str, str] | int, Finding] = {}
    for number, finding in enumerate(findings):
        why = next((each for each in refused if finding.sentence.endswith(each)), "")
        key: tuple[str, str] | int = (finding.file, why) if why else number
        once[key] = replace(once[key], times=once[key].times + finding.times) if key in once else finding
    for where, each in once.items():
        is_more = isinstance(where, tuple) and each.times > 1
        yield (
            replace(each, sentence=f"{each.sentence} (and so are {each.times - 1:,} more)")
            if is_more
            else each
        )
