"""Read, write and check sitemaps. Knows nothing of crawling, and imports nothing that crawls."""

from sitemap.model import Alternate, Child, Entry, Image, Video

__all__ = ["Alternate", "Child", "Entry", "Image", "Video"]
