"""Read, write and check sitemaps. Knows nothing of crawling, and imports nothing that crawls."""

from sitemap.acceptance import alternate_fault, entry_fault, image_fault, video_fault
from sitemap.destination import Destination, Directory, Stage
from sitemap.errors import (
    DestinationError,
    EmptySitemap,
    InvalidEntry,
    InvalidLocation,
    LimitExceeded,
    NotASitemap,
    SitemapError,
    SourceError,
)
from sitemap.finding import Finding
from sitemap.location import covers, directory
from sitemap.model import Alternate, Child, Entry, Image, Video
from sitemap.parse import ReadLimits, SitemapParser
from sitemap.reader import SitemapReader, read
from sitemap.target import FileFacts
from sitemap.vocabulary import Format
from sitemap.writer import Published, SitemapWriter

__all__ = [
    "Alternate",
    "Child",
    "Destination",
    "DestinationError",
    "Directory",
    "EmptySitemap",
    "Entry",
    "FileFacts",
    "Finding",
    "Format",
    "Image",
    "InvalidEntry",
    "InvalidLocation",
    "LimitExceeded",
    "NotASitemap",
    "Published",
    "ReadLimits",
    "SitemapError",
    "SitemapParser",
    "SitemapReader",
    "SitemapWriter",
    "SourceError",
    "Stage",
    "Video",
    "alternate_fault",
    "covers",
    "directory",
    "entry_fault",
    "image_fault",
    "read",
    "video_fault",
]
