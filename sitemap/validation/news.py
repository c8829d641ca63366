"""Owns what an article for Google News must satisfy.

https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
"""

import re
from collections.abc import Iterator
from typing import Final

from sitemap import dates
from sitemap.escape import FORBIDDEN_CHARACTERS
from sitemap.model import News
from sitemap.validation.url import DATE_FORMS, Fault, first_sentence

# https://www.google.com/schemas/sitemap-news/0.9/sitemap-news.xsd (language)
_LANGUAGE: Final = re.compile("zh-cn|zh-tw|[a-z]{2,3}")


def news_fault(news: News) -> str:
    """Why an article cannot be listed, or ""."""
    return first_sentence(news_faults(news))


def news_faults(news: News) -> Iterator[Fault]:
    """Everything that is wrong with it, but for its retired tags. Of the language only the form is judged."""
    for name, text in (
        ("a publication name", news.publication),
        ("a language", news.language),
        ("a publication_date", news.publication_date),
        ("a title", news.title),
    ):
        if not FORBIDDEN_CHARACTERS.sub("", text).strip():
            yield Fault("news.missing_tag", f"news needs {name}")
    if news.publication_date and not dates.is_valid_date(news.publication_date):
        yield Fault(
            "news.date", f"publication_date {news.publication_date[:64]!r} is no date as {DATE_FORMS}"
        )
    if news.language and not _LANGUAGE.fullmatch(news.language):
        yield Fault(
            "news.language",
            f"language {news.language[:64]!r} is not two or three lower-case letters, zh-cn or zh-tw",
        )
