"""Which URLs are the second and further pages of a list: seldom what a sitemap is missing."""

import re
from typing import Final

from crawler.model import Url

# "p" may as well be a product, and at the root it is a post of WordPress
_PATH: Final = re.compile(
    r"/(?:(?:(?:comments?-)?page|seite|pagina)[/-]?\d+|p[/-]?\d{1,3})(?:/|\.html?|\.php)?(?:\?|$)",
    re.IGNORECASE,
).search
_QUERY: Final = re.compile(
    r"[?&](?:page|paged|pg|pagenum|start|offset)=\d+(?:&|$)|//[^/]+/[^?]+\?(?:.*&)?p=\d{1,3}(?:&|$)",
    re.IGNORECASE,
).search


def is_of_series(url: Url) -> bool:
    """Whether a URL says that it is one page of several."""
    return bool(_PATH(url) or _QUERY(url))
