"""Owns the bytes of a sitemap index: its head, its children, its foot."""

from collections.abc import Sequence
from typing import Final

from sitemap import namespaces
from sitemap.escape import DECLARATION
from sitemap.model import Child
from sitemap.writing.elements import link, tag
from sitemap.writing.stylesheet import Stylesheet, instructions

INDEX_FOOT: Final = b"</sitemapindex>\n"


def index_head(stylesheets: Sequence[Stylesheet | str] = ()) -> bytes:
    """What comes before the first child."""
    return f'{DECLARATION}{instructions(stylesheets)}<sitemapindex xmlns="{namespaces.SITEMAP}">\n'.encode()


def encode_child(child: Child) -> bytes:
    """One ``sitemap`` element and a line end, UTF-8."""
    return f"<sitemap>{link('loc', child.loc)}{tag('lastmod', child.lastmod)}</sitemap>\n".encode()
