"""Owns the checks of one document: hands each batch of items to those that judge addresses, dates and extensions."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeGuard

from sitemap import limits
from sitemap.escape import quote_text
from sitemap.finding import FindingCollector
from sitemap.formats import FEEDS
from sitemap.languages import news_language_fault
from sitemap.linter.dates import DateChecks, is_future, latest_instant
from sitemap.linter.duplicates import DuplicateChecks
from sitemap.linter.hreflang import HreflangChecks
from sitemap.linter.urls import UrlChecks
from sitemap.model import Child, Entry, News
from sitemap.reader.tree import Document, LineOf
from sitemap.validation.entry import entry_faults
from sitemap.validation.retired import retired_faults

# What is judged here of an entry; its address, dates and variants are judged by others.
_EXTENSION_RULES: Final = ("image.", "video.", "news.")


class ExtensionChecks:
    """Checks the extensions of one document. ``news`` counts its articles."""

    def __init__(self, now: datetime, findings: FindingCollector) -> None:
        self.news = 0
        self._now = now
        self._findings = findings

    def check(self, entry: Entry, line: int) -> None:
        """Judge what one entry says of images, videos and news."""
        for fault in entry_faults(entry, ""):
            if fault.rule.startswith(_EXTENSION_RULES):
                self._findings.add(fault.rule, line, fault.sentence)
        for fault in retired_faults(entry):
            self._findings.add(fault.rule, line, fault.sentence)
        for video in entry.videos:
            if (ends := latest_instant(video.expiration_date)) and ends < self._now:
                self._findings.add(
                    "video.expired",
                    line,
                    f"video {quote_text(video.title)} expired at {video.expiration_date}: take it out",
                )
        if entry.news is not None:
            self._check_news(entry.news, line)

    def _check_news(self, news: News, line: int) -> None:
        self.news += 1
        if self.news == limits.MAX_NEWS + 1:
            self._findings.add("news.too_many", line, f"there are more than {limits.MAX_NEWS:,} articles")
        if len(news.language) == 2 and (fault := news_language_fault(news.language)):
            self._findings.add("news.language", line, f"language {quote_text(news.language)}: {fault}")
        published = latest_instant(news.publication_date)
        if published is None:
            return
        if is_future(news.publication_date, self._now):
            self._findings.add(
                "news.future", line, f"publication_date {news.publication_date} is in the future"
            )
        elif published < self._now - timedelta(days=limits.NEWS_DAYS):
            self._findings.add(
                "news.too_old",
                line,
                f"publication_date {news.publication_date} is more than {limits.NEWS_DAYS} days ago: take the news tags"
                " out",
            )


@dataclass(frozen=True, slots=True)
class SetContext:
    """What the checks of all documents of a set have in common: the time, and what is remembered of the others."""

    now: datetime
    vouched: Callable[[str], bool]
    duplicates: DuplicateChecks
    variants: HreflangChecks


class DocumentChecks:
    """Checks one document, batch by batch. All that is found goes to ``findings``, also what only the set can show.

    ``place`` is the URL in whose directory it may list pages.
    """

    def __init__(self, document: Document, place: str, shared: SetContext) -> None:
        self.findings = FindingCollector(document.file, document.max_findings)
        self._document = document
        self._addresses = UrlChecks(place, self.findings, shared.vouched)
        self._dates = DateChecks(shared.now, self.findings)
        self._extensions = ExtensionChecks(shared.now, self.findings)
        self._hint_line = 0
        self._undated = 0  # sitemaps of an index
        self._first_undated = 0
        self._listing = shared.duplicates.begin(document.file, self.findings)
        self._variants = shared.variants.begin(self.findings)

    def items(self, items: list[Entry | Child], line_of: LineOf) -> None:
        """Judge the next items of the document."""
        if not items:
            return
        if _are_pages(items):
            self._pages(items, line_of)
        else:
            self._mixed(items, line_of)

    def end(self) -> None:
        """Judge the document as a whole."""
        self._dates.end(churn=not self._extensions.news)
        if self._hint_line:
            self.findings.add(
                "hint.ignored", self._hint_line, "changefreq and priority are read by no large search engine"
            )
        if many := self._undated:
            says = f"{many:,} sitemaps have" if many > 1 else "a sitemap has"
            self.findings.add("index.no_lastmod", self._first_undated, f"{says} no lastmod here")
        self._variants.end()

    def _mixed(self, items: list[Entry | Child], line_of: LineOf) -> None:
        """Judge the addresses and dates of an index, or of a document that is not sure what it is."""
        places = [number for number, item in enumerate(items) if isinstance(item, Entry)]
        if places:
            pages = [item for item in items if isinstance(item, Entry)]
            self._pages(pages, lambda number: line_of(places[number]))
        self._dates.check(["" if isinstance(item, Entry) else item.lastmod for item in items], line_of)
        for number, item in enumerate(items):
            if isinstance(item, Child) and not item.lastmod:
                self._first_undated = self._first_undated if self._undated else line_of(number)
                self._undated += 1

    def _pages(self, pages: list[Entry], line_of: LineOf) -> None:
        """Judge pages: their addresses and dates as a batch, and one by one those that have more than that."""
        locs, lastmods = [page.loc for page in pages], [page.lastmod for page in pages]
        self._listing.add(locs, self._addresses.check(locs, line_of), line_of)
        self._dates.check(lastmods, line_of)
        self._dates.keep(lastmods)
        if self._document.format in FEEDS and "" in lastmods:
            for number, text in enumerate(lastmods):
                if not text:
                    self.findings.add("feed.no_date", line_of(number), "the item has no date")
        for number, page in [
            (number, page)
            for number, page in enumerate(pages)
            if page.changefreq
            or page.priority is not None
            or page.images
            or page.videos
            or page.alternates
            or page.news is not None
        ]:
            self._entry(page, number, line_of)

    def _entry(self, entry: Entry, number: int, line_of: LineOf) -> None:
        """Judge what a page has besides an address and a date."""
        if (entry.changefreq or entry.priority is not None) and not self._hint_line:
            self._hint_line = line_of(number)
        if entry.images or entry.videos or entry.news is not None:
            self._extensions.check(entry, line_of(number))
        if entry.alternates:
            self._variants.add(entry, line_of(number))


def _are_pages(items: list[Entry | Child]) -> TypeGuard[list[Entry]]:
    """Whether none of the items is a sitemap; nearly all documents are of one kind, which a count in C shows."""
    return list(map(type, items)).count(Entry) == len(items)
