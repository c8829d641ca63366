"""Cross-submission: decides whether the robots.txt of another host lets a sitemap list that host's URLs.

https://www.sitemaps.org/protocol.html#sitemaps_cross_submits
"""

from collections.abc import Callable, Iterable

from sitemap.location import Location, is_same_document, url_origin
from sitemap.robots_txt import sitemaps_in

_SHORTEST = len("http://x")  # the host of a URL ends here at the earliest


def vouches(robots_txt: bytes | str, *sitemap_urls: str) -> bool:
    """Whether a robots.txt names one of these sitemaps, and so lets it list any URL of the robots.txt's host."""
    return any(is_same_document(sitemap, url) for sitemap in sitemaps_in(robots_txt) for url in sitemap_urls)


class CrossSubmits:
    """Decides which URLs of other hosts a sitemap may list: those of a host whose robots.txt names the sitemap.

    ``index_urls`` are the sitemap indexes that list the sitemap; a robots.txt may name one of them instead.
    ``fetch_robots`` returns the content of a robots.txt, redirects followed, or None without one; OSError counts as
    None. It is called once for each origin (scheme, host and port) and for at most ``max_origins``. A further origin
    vouches for nothing, and ``full`` becomes True. ``origins`` maps each checked origin to the result.
    :meth:`vouched` fits the ``vouched`` parameter of the writer and the linter. InvalidLocation for an invalid URL.

        >>> robots = {"https://shop.example/robots.txt": b"Sitemap: https://example.com/sitemap.xml"}
        >>> submits = CrossSubmits("https://example.com/sitemap.xml", robots.get)
        >>> submits.vouched("https://shop.example/boats"), submits.vouched("https://blog.example/")
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
        self._sitemap_urls = (sitemap_url, *(Location(url).url for url in index_urls))
        self._fetch = fetch_robots
        self._max_origins = max_origins
        # The start of the last URL and its result: consecutive URLs usually have the same host.
        self._last = ("", False)

    def vouched(self, url: str) -> bool:
        """Whether the robots.txt of the URL's own origin names the sitemap.

        False for a URL of the sitemap's own origin, where only the sitemap's directory counts
        (:class:`sitemap.Location`), and for a URL that is not absolute http(s).
        """
        end = url.find("/", _SHORTEST)
        start = url[:end] if end > 0 else url
        if start != self._last[0]:
            self._last = (start, self._check(start))
        return self._last[1]

    def _check(self, start: str) -> bool:
        try:
            origin = url_origin(start)
        except ValueError:
            return False
        if origin == self._own:
            return False
        if origin not in self.origins:
            if len(self.origins) >= self._max_origins:
                self.full = True
                return False
            self.origins[origin] = self._names_sitemap(origin)
        return self.origins[origin]

    def _names_sitemap(self, origin: str) -> bool:
        try:
            robots_txt = self._fetch(origin + "/robots.txt")
        except OSError:
            return False
        return robots_txt is not None and vouches(robots_txt, *self._sitemap_urls)
