"""Owns the checks of what entries say of images, videos and news: their values, and whether they are of today.

https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
"""

from datetime import datetime, timedelta
from typing import Final

from sitemap import limits
from sitemap.acceptance import entry_faults, retired_faults
from sitemap.finding import Findings
from sitemap.languages import news_language_fault
from sitemap.linting.dates import is_future, latest
from sitemap.model import Entry, News
from sitemap.quoting import shown

# What is judged here of an entry; its address, dates and variants are judged by others.
_OURS: Final = ("image.", "video.", "news.")


class Extensions:
    """Checks the extensions of one document. ``news`` counts its articles."""

    def __init__(self, now: datetime, findings: Findings) -> None:
        self.news = 0
        self._now = now
        self._findings = findings

    def check(self, entry: Entry, line: int) -> None:
        """Judge what one entry says of images, videos and news."""
        for fault in entry_faults(entry, ""):
            if fault.rule.startswith(_OURS):
                self._findings.add(fault.rule, line, fault.sentence)
        for fault in retired_faults(entry):
            self._findings.add(fault.rule, line, fault.sentence)
        for video in entry.videos:
            if (ends := latest(video.expiration_date)) and ends < self._now:
                self._findings.add(
                    "video.expired",
                    line,
                    f"video {shown(video.title)} expired at {video.expiration_date}: take it out",
                )
        if entry.news is not None:
            self._check_news(entry.news, line)

    def _check_news(self, news: News, line: int) -> None:
        self.news += 1
        if self.news == limits.MAX_NEWS + 1:
            self._findings.add("news.too_many", line, f"there are more than {limits.MAX_NEWS:,} articles")
        if len(news.language) == 2 and (fault := news_language_fault(news.language)):
            self._findings.add("news.language", line, f"language {shown(news.language)}: {fault}")
        published = latest(news.publication_date)
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
