"""Judges sitemaps that come from anywhere: each under its own name, and with the robots.txt of other hosts asked."""

from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from crawler.model import Url
from crawler.url.normalize import origin_of
from sitemap import Child, CrossSubmits, Document, Entry, Finding, InvalidLocation, Linter, vouches

MAX_HOSTS: Final = 20  # whose robots.txt is asked


class CrossSubmitChecker:
    """Whether the robots.txt of a host names the sitemap at hand, or an index that leads to it.

    ``fetch`` answers the content of a robots.txt, or None; without it nobody is asked. ``doors`` are other origins of
    the site itself, which nobody need ask: what is listed there is told otherwise.
    """

    def __init__(
        self, fetch: Callable[[str], bytes | None] | None, doors: Collection[str] = frozenset()
    ) -> None:
        self.full = False
        self._alias_origins = doors
        self._fetch = fetch
        self._known: dict[str, bytes | None] = {}
        self._by_url: dict[str, CrossSubmits | None] = {}
        self._now: CrossSubmits | None = None

    def set_document(self, document: Document) -> None:
        """A document's URLs will be asked about."""
        if document.url not in self._by_url:
            self._by_url[document.url] = self._submits(document)
        self._now = self._by_url[document.url]

    def is_vouched(self, url: str) -> bool:
        """Whether the document may list a URL of another origin."""
        return url.startswith(tuple(f"{door}/" for door in self._alias_origins)) or (
            self._now is not None and self._now.is_vouched(url)
        )

    def place(self, document: Document) -> str:
        """The URL in whose directory a document may list pages: the root of a host whose robots.txt names it.

        Being named there is proof enough for any URL of that host:
        https://www.sitemaps.org/protocol.html#sitemaps_cross_submits
        """
        url = document.url
        if not url.startswith("http") or url.count("/") < 4:  # it lies nowhere, or in the root
            return url
        home = origin_of(Url(url))
        robots_txt = self._robots(f"{home}/robots.txt")
        is_named = robots_txt is not None and vouches(robots_txt, url, *_above(document))
        return f"{home}/" if is_named else url

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
    """The indexes that lead to a document, where it is known where they are."""
    indexes, above = [], document.parent
    while above is not None:
        indexes.append(above.url)
        above = above.parent
    return list(filter(None, indexes))


class CrossSubmitLinter(Linter):
    """A linter that asks about each document under its own name. ``now`` is an aware datetime."""

    def __init__(self, submits: CrossSubmitChecker, now: datetime) -> None:
        super().__init__(now, submits.is_vouched)
        self._submits = submits

    def items(self, document: Document, items: list[Entry | Child], line_of: Callable[[int], int]) -> None:
        """See :class:`sitemap.Linter`."""
        self._submits.set_document(document)
        super().items(document, items, line_of)


class TrustingLinter(CrossSubmitLinter):
    """The same, for whom a sitemap that the robots.txt of a host names may list all of that host.

    The protocol ties a sitemap to its directory all the same, so lint does; search engines do not.
    """

    def place(self, document: Document) -> str:
        """See :class:`sitemap.Linter`."""
        return self._submits.place(document)


def reportable_findings(
    findings: Iterable[Finding],
    rules: Collection[str],
    unpacked: Collection[str],
    private: Collection[str],
    once: Collection[str] = (),
) -> tuple[Finding, ...]:
    """The findings of these rules, without those that only came of the way on which a file was had.

    ``unpacked`` are files that the server called packed on the wire only, ``private`` the reasons why hosts were not
    asked: what says the same of such a host is told once for each file, and so is what rules of ``once`` say.
    """
    return tuple(_merge_repeats(_selected(findings, rules, unpacked), private, once))


def _selected(
    findings: Iterable[Finding], rules: Collection[str], unpacked: Collection[str]
) -> Iterator[Finding]:
    for each in findings:
        if each.rule in rules and not (each.rule == "sitemap.mislabelled" and each.file in unpacked):
            yield each


def _merge_repeats(
    findings: Iterable[Finding], refused: Collection[str], rules: Collection[str]
) -> Iterator[Finding]:
    """Those that are one fault of a file, as one with their number."""
    once: dict[tuple[str, str] | int, Finding] = {}
    for number, each in enumerate(findings):
        why = next((said for said in refused if each.sentence.endswith(said)), "")
        if each.rule in rules:
            why = each.rule
        key: tuple[str, str] | int = (each.file, why) if why else number
        known = once.get(key)
        if known is None:
            once[key] = each
        else:  # one without a line only counts others
            once[key] = replace(known if known.line else each, times=known.times + each.times)
    for where, each in once.items():
        is_more = isinstance(where, tuple) and each.times > 1
        yield (
            replace(each, sentence=f"{each.sentence} (and so are {each.times - 1:,} more)")
            if is_more
            else each
        )
