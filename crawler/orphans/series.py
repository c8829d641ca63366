"""Which URLs are the second and further pages of a list: seldom what a sitemap is missing."""

import re
from typing import Final

from crawler.model import Url

_PATH: Final = re.compile(
    r"/(?:(?:comments?-)?page|p|seite|pagina)[/-]?\d+(?:/|\.html?|\.php)?(?:\?|$)", re.IGNORECASE
).search
_QUERY: Final = re.compile(r"[?&](?:page|paged|pg|p|pagenum|start|offset)=\d+(?:&|$)", re.IGNORECASE).search


def is_of_series(url: Url) -> bool:
    """Whether a URL says that it is one page of several."""
    return bool(_PATH(url) or _QUERY(url))
