"""The Sitemap lines of a robots.txt: reads them, makes the missing ones, and decides cross-submission. Pure.

https://www.sitemaps.org/protocol.html#submit_robots, https://www.rfc-editor.org/rfc/rfc9309#section-2.2.4 and
https://www.sitemaps.org/protocol.html#sitemaps_cross_submits
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from sitemap import limits
from sitemap.location import Location, is_same_document, url_origin

_LINE_END = re.compile(r"\r\n|\r|\n")
# Accepts the same spellings as Google's parser: https://github.com/google/robotstxt
_SITEMAP = re.compile(r"[ \t]*+site-?maps?(?:[ \t]*+:|[ \t])", re.IGNORECASE).match
_SHORTEST = len("http://x")  # the host of a URL ends here at the earliest
_BLANK = re.compile(r"[\s\x00-\x1f\x7f]")


def sitemap_lines(robots_txt: bytes | str) -> Iterator[str]:
    """The value of each Sitemap line of a robots.txt, in order and unchecked.

    Sitemap lines count in every group of user agents. Reads at most 500 KiB, up to the last whole line (RFC 9309
    section 2.5).
    """
    for line in _LINE_END.split(_text(robots_txt)):
        field = _SITEMAP(line)
        if field and (value := line[field.end() :].partition("#")[0].strip()):
            yield value


def sitemaps_in(robots_txt: bytes | str) -> list[str]:
    """The sitemaps that a robots.txt names, each once; at most 500. Only absolute http(s) URLs count."""
    sitemaps = dict.fromkeys(filter(_is_url, sitemap_lines(robots_txt)))
    return list(islice(sitemaps, limits.MAX_ROBOTS_SITEMAPS))


def missing_lines(robots_txt: bytes | str, sitemap_urls: Iterable[str]) -> list[str]:
    """The lines to append to a robots.txt so that it names these sitemaps. InvalidLocation for an invalid URL.

    >>> missing_lines("User-agent: *\\nDisallow: /cart/\\n", ["https://example.com/sitemap.xml"])
    ['Sitemap: https://example.com/sitemap.xml']
    """
    sitemaps = sitemaps_in(robots_txt)
    lines: list[str] = []
    for url in sitemap_urls:
        address = Location(url).url.partition("#")[0]  # "#" begins a comment
        if not any(is_same_document(address, other) for other in sitemaps):
            sitemaps.append(address)
            lines.append(f"Sitemap: {address}")
    return lines


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


def _text(robots_txt: bytes | str) -> str:
    limit = limits.MAX_ROBOTS_BYTES
    if isinstance(robots_txt, str):
        robots_txt = robots_txt[: limit + 1].encode("utf-8", "replace")
    if len(robots_txt) > limit:
        end = max(robots_txt.rfind(b"\n", 0, limit), robots_txt.rfind(b"\r", 0, limit))
        robots_txt = robots_txt[: max(end, 0)]
    return robots_txt.decode("utf-8-sig", "replace")


def _is_url(text: str) -> bool:
    try:
        return not _BLANK.search(text) and bool(url_origin(text))
    except ValueError:
        return False
