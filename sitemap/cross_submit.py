"""Owns cross-submission: whether another host lets a sitemap list its URLs. Opens no connection itself.

https://www.sitemaps.org/protocol.html#sitemaps_cross_submits
"""

from collections.abc import Callable, Iterable

from sitemap.location import Location, is_same_document, url_origin
from sitemap.robots_txt import sitemaps_in

_SHORTEST = len("http://x")  # no host ends before


def vouches(robots_txt: bytes | str, *sitemap_urls: str) -> bool:
    """Whether a robots.txt names one of these sitemaps, and so lets it list any URL of the host it was served from."""
    return any(is_same_document(named, url) for named in sitemaps_in(robots_txt) for url in sitemap_urls)


class CrossSubmits:
    """Knows which URLs of other hosts a sitemap may list, because the robots.txt of their host names it.

    ``index_urls`` are the indexes that lead to the sitemap: naming one of them is as good. ``fetch_robots`` answers
    the content of a robots.txt, redirects followed, or None when there is none; an OSError counts as None. It is called
    once for each origin (scheme, host and port), for at most ``max_origins``: any further one vouches for nothing, and
    ``full`` says that it came to that. ``origins`` has the answer of each origin that was asked. InvalidLocation for a
    bad address. :meth:`vouched` is what ``SitemapWriter`` takes as ``vouched``.

        >>> robots = {"https://shop.example/robots.txt": b"Sitemap: https://example.com/sitemap.xml"}
        >>> submits = CrossSubmits("https://example.com/sitemap.xml", robots.get)
        >>> submits.is_vouched("https://shop.example/boats"), submits.is_vouched("https://blog.example/")
        (True, False)
    """

    def __init__(
        self,
        sitemap_url: str,
        fetch_robots: Callable[[str], bytes | None],
        index_urls: Iterable[str] = (),
        max_origins: int = 1_000,
    ) -> None:
        self.origins: dict[str, bool] = {}
        self.full = False
        self._own = Location(sitemap_url).origin
        self._names = (sitemap_url, *(Location(url).url for url in index_urls))
        self._fetch = fetch_robots
        self._max_origins = max_origins
        # What a URL begins with, and the answer: neighbours in a list are of one host.
        self._last = ("", False)

    def is_vouched(self, url: str) -> bool:
        """Whether the robots.txt of the URL's own origin names the sitemap.

        False for a URL of the sitemap's own origin: for that its directory speaks (:class:`sitemap.Location`), and no
        robots.txt widens it. False for what is not absolute http(s).
        """
        end = url.find("/", _SHORTEST)
        start = url[:end] if end > 0 else url
        if start != self._last[0]:
            self._last = (start, self._ask(start))
        return self._last[1]

    def _ask(self, start: str) -> bool:
        try:
            where = url_origin(start)
        except ValueError:
            return False
        if where == self._own:
            return False
        if where not in self.origins:
            if len(self.origins) >= self._max_origins:
                self.full = True
                return False
            self.origins[where] = self._names_us(where)
        return self.origins[where]

    def _names_us(self, where: str) -> bool:
        try:
            robots_txt = self._fetch(where + "/robots.txt")
        except OSError:
            return False
        return robots_txt is not None and vouches(robots_txt, *self._names)
