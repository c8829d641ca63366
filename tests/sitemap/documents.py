"""Owns what the tests of reading share: a small urlset, and the way to read it whole or in pieces."""

from typing import Any

from sitemap import SitemapParser

URLSET = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    ' xmlns:mobile="http://www.google.com/schemas/sitemap-mobile/1.0"'
    ' xmlns:xhtml="http://www.w3.org/1999/xhtml"'
)
LOC = "https://example.com/a"


def urlset(inner: str, root: str = URLSET) -> bytes:
    """A urlset; its content begins on line 3."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {root}>\n{inner}\n</urlset>\n'.encode()


def url(inner: str = "", loc: str = LOC) -> str:
    """A url element."""
    return f"<url><loc>{loc}</loc>{inner}</url>"


def parse(data: bytes, piece: int = 1 << 30, **options: Any) -> tuple[list[Any], SitemapParser]:
    """The items of a document that is fed in pieces, and the parser afterwards."""
    parser = SitemapParser(**options)
    items: list[Any] = []
    for start in range(0, len(data), piece):
        items += parser.feed(data[start : start + piece])
    return items + parser.close(), parser


def findings(parser: SitemapParser) -> list[tuple[str, int]]:
    """Rule and line of each finding."""
    return [(finding.rule, finding.line) for finding in parser.findings]
