"""Lints sitemaps of any origin: checks cross-submission with the robots.txt of other hosts, and selects findings."""

from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from crawler.model import Url
from crawler.url.normalize import origin_of
from sitemap import Child, CrossSubmits, Document, Entry, Finding, InvalidLocation, Linter, vouches

MAX_HOSTS: Final = 20  # whose robots.txt is fetched
ONE_PER_FILE_RULES: Final = frozenset({"location.outside", "index.outside"})
"""Rules about where a file lies: one finding for each file, whatever the number of its entries."""


class CrossSubmitChecker:
    """Checks whether the robots.txt of a host names the current sitemap, or an index that leads to it.

    ``fetch`` returns the content of a robots.txt, or None; without it none is fetched. ``alias_origins`` are other
    origins of the site itself, which need no check: other rules report URLs there. ``full`` is True when the limit of
    hosts left some unchecked.
    """

    def __init__(
        self, fetch: Callable[[str], bytes | None] | None, alias_origins: Collection[str] = frozenset()
    ) -> None:
        self.full = False
        self._alias_origins = alias_origins
        self._fetch = fetch
        self._known: dict[str, bytes | None] = {}
        self._by_url: dict[str, CrossSubmits | None] = {}
        self._now: CrossSubmits | None = None

    def set_document(self, document: Document) -> None:
        """Set the document whose URLs :meth:`is_vouched` checks."""
        if document.url not in self._by_url:
            self._by_url[document.url] = self._submits(document)
        self._now = self._by_url[document.url]

    def is_vouched(self, url: str) -> bool:
        """Whether the document may list a URL of another origin."""
        return url.startswith(tuple(f"{origin}/" for origin in self._alias_origins)) or (
            self._now is not None and self._now.vouched(url)
        )

    def place(self, document: Document) -> str:
        """The URL in whose directory a document may list pages: the root of the host if its robots.txt names it.

        A robots.txt that names a sitemap permits any URL of that host:
        https://www.sitemaps.org/protocol.html#sitemaps_cross_submits
        """
        url = document.url
        if not url.startswith("http") or url.count("/") < 4:  # without a URL, or in the root
            return url
        origin = origin_of(Url(url))
        robots_txt = self._robots(f"{origin}/robots.txt")
        is_named = robots_txt is not None and vouches(robots_txt, url, *_above(document))
        return f"{origin}/" if is_named else url

    def _submits(self, document: Document) -> CrossSubmits | None:
        try:
            return CrossSubmits(document.url, self._robots, _above(document))
        except InvalidLocation:
            return None

    def _robots(self, url: str) -> bytes | None:
        if url not in self._known:
            if self._fetch is None or len(self._known) >= MAX_HOSTS:
                self.full = self._fetch is not None
                return None
            self._known[url] = self._fetch(url)
        return self._known[url]


def _above(document: Document) -> list[str]:
    """The URLs of the indexes that lead to a document."""
    indexes, parent = [], document.parent
    while parent is not None:
        indexes.append(parent.url)
        parent = parent.parent
    return list(filter(None, indexes))


class CrossSubmitLinter(Linter):
    """A linter that checks each document by its own URL. ``now`` is an aware datetime.

    A sitemap may list all of a host whose robots.txt names it, as search engines permit. Without its robots.txt, a
    sitemap may list what is in its directory.
    """

    def __init__(self, submits: CrossSubmitChecker, now: datetime) -> None:
        super().__init__(now, submits.is_vouched)
        self._submits = submits

    def items(self, document: Document, items: list[Entry | Child], line_of: Callable[[int], int]) -> None:
        """See :class:`sitemap.Linter`."""
        self._submits.set_document(document)
        super().items(document, items, line_of)

    def place(self, document: Document) -> str:
        """See :class:`sitemap.Linter`."""
        return self._submits.place(document)


def reportable_findings(
    findings: Iterable[Finding], rules: Collection[str], unpacked: Collection[str], private: Collection[str]
) -> tuple[Finding, ...]:
    """The findings of these rules, without those that the transfer of a file caused.

    ``unpacked`` are files that were compressed in transfer only. ``private`` are the reasons for not asking hosts, at
    the end of a sentence: such findings merge into one for each file and reason. Those of ``ONE_PER_FILE_RULES`` merge
    into one for each file and rule.
    """
    return tuple(_merge_repeats(_selected(findings, rules, unpacked), private))


def _selected(findings: Iterable[Finding], rules: Collection[str], unpacked: Collection[str]) -> Iterator[Finding]:
    for finding in findings:
        if finding.rule in rules and not (finding.rule == "sitemap.mislabelled" and finding.file in unpacked):
            yield finding


def _merge_repeats(findings: Iterable[Finding], reasons: Collection[str]) -> Iterator[Finding]:
    """The findings; those that are one fault of a file become one with their number."""
    merged: dict[tuple[str, str] | int, Finding] = {}
    for number, finding in enumerate(findings):
        reason = next((text for text in reasons if finding.sentence.endswith(text)), "")
        if finding.rule in ONE_PER_FILE_RULES:
            reason = finding.rule
        key: tuple[str, str] | int = (finding.file, reason) if reason else number
        first = merged.get(key)
        if first is None:
            merged[key] = finding
        else:  # a finding without a line only counts others
            merged[key] = replace(first if first.line else finding, times=first.times + finding.times)
    for key, finding in merged.items():
        if isinstance(key, tuple) and finding.times > 1:
            sentence = f"{finding.sentence} (and {finding.times - 1:,} more like this)"
            yield replace(finding, sentence=sentence)
        else:
            yield finding
