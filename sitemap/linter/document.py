"""Checks one document: passes each batch of items to the checks of URLs, dates, variants and extensions."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeGuard

from sitemap import limits
from sitemap.escape import quote_text
from sitemap.languages import news_language_fault
from sitemap.linter.dates import DateChecks, is_future, latest_instant
from sitemap.linter.duplicates import DuplicateChecks
from sitemap.linter.hreflang import HreflangChecks
from sitemap.linter.urls import UrlChecks
from sitemap.model import FEEDS, Child, Entry, News
from sitemap.reader.tree import Document, LineOf
from sitemap.rules import FindingCollector
from sitemap.validation import entry_faults, retired_faults

# The rules checked here; other checks cover the URL, dates and variants of an entry.
_EXTENSION_RULES: Final = ("image.", "video.", "news.")


class ExtensionChecks:
    """Checks the extensions of one document. ``news`` is the number of its articles."""

    def __init__(self, now: datetime, findings: FindingCollector) -> None:
        self.news = 0
        self._now = now
        self._findings = findings

    def check(self, entry: Entry, line: int) -> None:
        """Check the images, videos and news of one entry."""
        for fault in entry_faults(entry, ""):
            if fault.rule.startswith(_EXTENSION_RULES):
                self._findings.add(fault.rule, line, fault.sentence)
        for fault in retired_faults(entry):
            self._findings.add(fault.rule, line, fault.sentence)
        for video in entry.videos:
            if (end := latest_instant(video.expiration_date)) and end < self._now:
                self._findings.add(
                    "video.expired",
                    line,
                    f"video {quote_text(video.title)} expired at {video.expiration_date}: remove it",
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
            self._findings.add("news.future", line, f"publication_date {news.publication_date} is in the future")
        elif published < self._now - timedelta(days=limits.NEWS_DAYS):
            self._findings.add(
                "news.too_old",
                line,
                f"publication_date {news.publication_date} is more than {limits.NEWS_DAYS} days ago: remove the news"
                " tags",
            )


@dataclass(frozen=True, slots=True)
class SetContext:
    """What the checks of all documents of a set share: the present time, and what is known of the other documents."""

    now: datetime
    vouched: Callable[[str], bool]
    duplicates: DuplicateChecks
    variants: HreflangChecks


class DocumentChecks:
    """Checks one document, batch by batch, and collects its ``findings``, also those that only the whole set shows.

    ``place`` is the URL whose directory it may list.
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
        """Check the next items of the document."""
        if not items:
            return
        if _are_pages(items):
            self._pages(items, line_of)
        else:
            self._mixed(items, line_of)

    def end(self) -> None:
        """Check the document as a whole."""
        self._dates.end(churn=not self._extensions.news)
        if self._hint_line:
            self.findings.add("hint.ignored", self._hint_line, "no large search engine reads changefreq and priority")
        if count := self._undated:
            subject = f"{count:,} sitemaps have" if count > 1 else "a sitemap has"
            self.findings.add("index.no_lastmod", self._first_undated, f"{subject} no lastmod here")
        self._variants.end()

    def _mixed(self, items: list[Entry | Child], line_of: LineOf) -> None:
        """Check the items of an index, or of a document that mixes pages and sitemaps."""
        numbers = [number for number, item in enumerate(items) if isinstance(item, Entry)]
        if numbers:
            pages = [item for item in items if isinstance(item, Entry)]
            self._pages(pages, lambda number: line_of(numbers[number]))
        self._dates.check(["" if isinstance(item, Entry) else item.lastmod for item in items], line_of)
        for number, item in enumerate(items):
            if isinstance(item, Child) and not item.lastmod:
                self._first_undated = self._first_undated if self._undated else line_of(number)
                self._undated += 1

    def _pages(self, pages: list[Entry], line_of: LineOf) -> None:
        """Check pages: URLs and dates as a batch, and one by one the pages that have other tags."""
        locs, lastmods = [page.loc for page in pages], [page.lastmod for page in pages]
        self._listing.add(locs, self._addresses.check(locs, line_of), line_of)
        self._dates.check(lastmods, line_of)
        self._dates.keep(lastmods)
        if self._document.format in FEEDS and "" in lastmods:
            for number, text in enumerate(lastmods):
                if not text:
                    self.findings.add("feed.no_date", line_of(number), "the item has no date")
        for number, page in enumerate(pages):
            if (
                page.changefreq
                or page.priority is not None
                or page.images
                or page.videos
                or page.alternates
                or page.news is not None
            ):
                self._entry(page, number, line_of)

    def _entry(self, entry: Entry, number: int, line_of: LineOf) -> None:
        """Check the other tags of a page."""
        if (entry.changefreq or entry.priority is not None) and not self._hint_line:
            self._hint_line = line_of(number)
        if entry.images or entry.videos or entry.news is not None:
            self._extensions.check(entry, line_of(number))
        if entry.alternates:
            self._variants.add(entry, line_of(number))


def _are_pages(items: list[Entry | Child]) -> TypeGuard[list[Entry]]:
    """Whether all items are pages. A count in C is fast, and nearly all documents have only one kind of item."""
    return list(map(type, items)).count(Entry) == len(items)
