"""Owns what an entry must satisfy before it may be written: the protocol, Google's rules and what the XSDs enforce.

The functions named ``…_faults`` find every fault, for a linter; those named ``…_fault`` answer the sentence of the
first, or "", for a writer. All are pure.
"""

from sitemap.validation.entry import entry_fault, entry_faults
from sitemap.validation.image import alternate_fault, alternate_faults, image_fault, image_faults
from sitemap.validation.news import news_fault, news_faults
from sitemap.validation.retired import retired_fault, retired_faults
from sitemap.validation.types import kind_fault
from sitemap.validation.url import Fault, url_fault
from sitemap.validation.video import video_fault, video_faults

__all__ = [
    "Fault",
    "alternate_fault",
    "alternate_faults",
    "entry_fault",
    "entry_faults",
    "image_fault",
    "image_faults",
    "kind_fault",
    "news_fault",
    "news_faults",
    "retired_fault",
    "retired_faults",
    "url_fault",
    "video_fault",
    "video_faults",
]
