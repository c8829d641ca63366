"""Which sitemaps an audit reads: those that a person named, or those that the site itself names; and their reading."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from crawler.audit.claim import Account, Source
from crawler.audit.evidence.sitemap_entries import Published
from crawler.audit.finding import AuditFinding
from crawler.audit.sources.cross_submit import MAX_HOSTS, Submits
from crawler.audit.sources.urls import Addresses
from crawler.config.plan import Plan
from crawler.crawl.documents import Place, is_page, is_url, local, places
from crawler.crawl.download import NotThere, Remote, homes
from crawler.errors import UsageError
from crawler.state.status import sitemap_address
from crawler.url.normalize import InvalidUrl, normalise, origin
from sitemap import Document, ReadLimits, SourceError, TreeLimits, walk

MAX_TOLD: Final = 100
"""Findings of one rule in one file that are told one by one; of the others their number."""
MAX_REDIRECTS: Final = 20  # that are named
USUAL: Final = "/sitemap.xml"


@dataclass(frozen=True, slots=True)
class ReadSitemaps:
    """What the reading brought besides claims and entries: what lint found, and what a person should know."""

    findings: list[AuditFinding]
    notes: list[str]


def read_sitemaps(
    plan: Plan,
    db: sqlite3.Connection,
    addresses: Addresses,
    now: float,
    watch: Callable[[str], object] = lambda _: None,
) -> ReadSitemaps:
    """Read all sitemaps of a site into the tables ``input``, ``claim`` and ``entry`` of ``db``. ``now`` is Unix time.

    ``watch`` is told the name of each sitemap when its turn comes. What the site itself names and cannot be had, and
    any child that cannot, makes the account of it incomplete.
    Raises UsageError and NothingCrawlable for what a person named and cannot be read, StorageError.
    """
    config = plan.config
    words = config.audit.sitemaps
    urls = [word for word in words if is_url(word)]
    with Remote(config, homes([plan.seed, *urls]), config.fetch.max_sitemap, plan.source) as remote:
        submits = Submits(remote.robots, addresses.doors)
        published = Published(db, addresses, plan.params, submits, datetime.fromtimestamp(now, UTC))
        reading = _Reading(plan, remote, published, watch)
        reading.named(words) if words else reading.own()
        findings, not_judged = published.finish(remote.unpacked, remote.private)
        notes = [*reading.notes, *not_judged]
        redirects = dict.fromkeys(remote.redirects)
        notes += [f"{asked} redirects to {answered}" for asked, answered in islice(redirects, MAX_REDIRECTS)]
        if submits.full:
            notes.append(f"the robots.txt of {MAX_HOSTS} other hosts were asked, and of no more")
    return ReadSitemaps([*reading.findings, *findings], notes)


def check_sitemaps(words: tuple[str, ...]) -> None:
    """Whether the files that a person named are there. Raises UsageError."""
    local(_known(words), "")


class _Reading:
    """One reading of all of them."""

    def __init__(
        self, plan: Plan, remote: Remote, published: Published, watch: Callable[[str], object]
    ) -> None:
        self.notes: list[str] = []
        self.findings: list[AuditFinding] = []
        self._nowhere: list[str] = []  # where a sitemap was looked for in vain
        self._plan = plan
        self._remote = remote
        self._published = published
        self._watch = watch
        self._taken: set[str] = set()  # where documents really are that were read
        fetch = plan.config.fetch
        self._limits = TreeLimits(read=ReadLimits(fetch.max_sitemap, max_findings=MAX_TOLD))

    def named(self, words: tuple[str, ...]) -> None:
        """Those that a person named."""
        files = local(_known(words), "")
        for place in places(words, files, "", self._remote, self.notes.append):
            name = str(place.source) if isinstance(place.source, Path) else place.url
            self._read(name, place)

    def own(self) -> None:
        """Those that robots.txt names, the one that is where it usually is, and the one that is published here."""
        home = origin(self._plan.seed)
        named = list(dict.fromkeys(map(self._meant, self._remote.rules(home).sitemaps)))
        is_read = False
        for url in named:
            is_read |= self._try(url)
        ours = sitemap_address(self._plan.state.parent, self._plan.sitemap_url)
        for url in dict.fromkeys((home + USUAL, ours)):
            if url not in named:
                is_read |= self._guess(url)
        if not named and not is_read:
            nowhere = " and ".join(self._nowhere)
            self.notes.append(f"the site has no sitemap: robots.txt names none, and {nowhere}")

    def _try(self, url: str) -> bool:
        try:
            where, content = self._locate(url)
        except SourceError as error:
            # what is not there lists nothing that could be unknown
            self._lose(url, str(error), is_whole=isinstance(error, NotThere))
            if str(error) not in self._remote.private:
                self._declare(url, str(error))
            return False
        return self._take(url, where, content)

    def _declare(self, url: str, fault: str) -> None:
        """That robots.txt names what is no sitemap."""
        self.findings.append(
            AuditFinding(
                rule="declared.unreadable",
                url=url,
                sentence=f"robots.txt names it as a sitemap, and it cannot be read: {fault}",
                known=[Source.SITEMAP],
                file=url,
            )
        )

    def _guess(self, url: str) -> bool:
        """Read what may be there; a page in its place is none."""
        shown = url.removeprefix(origin(self._plan.seed))
        try:
            where, content = self._locate(url)
        except NotThere:
            self._nowhere.append(f"there is no {shown}")
            return False
        except SourceError as error:
            self._lose(url, str(error))
            return False
        if is_page(content):
            self._nowhere.append(f"{shown} answers with an HTML page, which is no sitemap")
            return False
        return self._take(url, where, content)

    def _take(self, url: str, where: str, content: bytes) -> bool:
        """Read a document, unless it was read under another name: many sites redirect the usual one."""
        if where not in self._taken:
            self._taken.add(where)
            self._read(url, Place(content, where, self._open))
        return True

    def _open(self, url: str) -> bytes:
        return self._locate(url)[1]

    def _locate(self, url: str) -> tuple[str, bytes]:
        meant = self._meant(url)
        self._remote.ask_leave(meant)
        return self._remote.locate(meant)

    def _meant(self, url: str) -> str:
        """A URL as the public knows it: a site that is read elsewhere may name that place."""
        try:
            return normalise(url, self._plan.params.whole)
        except InvalidUrl:
            return url

    def _lose(self, name: str, fault: str, *, is_whole: bool = False) -> None:
        self._watch(name)
        self._published.begin_source(
            Account(source=Source.SITEMAP, name=name, complete=is_whole, faults=[fault])
        )
        self._published.end_source(None)

    def _read(self, name: str, place: Place) -> None:
        self._watch(name)
        account = Account(source=Source.SITEMAP, name=name, bytes=_size(place.source))
        self._published.begin_source(account)
        document: Document | None = None
        try:
            opener = self._counting(place.opener, account) if place.opener else None
            document = walk(place.source, self._published, opener=opener, url=place.url, limits=self._limits)
        except SourceError as error:
            raise UsageError(str(error)) from None
        finally:
            self._published.end_source(document)

    def _counting(self, opener: Callable[[str], bytes], account: Account) -> Callable[[str], bytes]:
        def opened(url: str) -> bytes:
            self._watch(url)
            content = opener(url)
            account.bytes += len(content)
            return content

        return opened


def _known(words: tuple[str, ...]) -> tuple[str, ...]:
    if "-" in words:
        raise UsageError("an audit does not read sitemaps from the standard input: name files or URLs")
    return words


def _size(source: Path | bytes | BinaryIO) -> int:
    if isinstance(source, Path):
        return source.stat().st_size
    return len(source) if isinstance(source, bytes) else 0
