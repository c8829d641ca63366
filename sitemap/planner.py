"""Plans the sitemaps of several directories or hosts, and the robots.txt lines that they need. Pure.

https://www.sitemaps.org/protocol.html#location and https://www.sitemaps.org/protocol.html#sitemaps_cross_submits
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from sitemap import limits
from sitemap.errors import InvalidLocation, LimitExceeded
from sitemap.escape import quote_text
from sitemap.location import Location, is_same_document, origin_and_path
from sitemap.robots_txt import missing_lines

_MAX_ORIGINS: Final = 10_000  # a person carries a plan out, and it is held in memory
_EXAMPLES: Final = 20


@dataclass(slots=True)
class PlannedSitemap:
    """One sitemap of a plan. ``origins`` maps each origin to the number of its URLs that the sitemap lists."""

    location: Location
    origins: dict[str, int] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The URL of the sitemap."""
        return self.location.url

    @property
    def urls(self) -> int:
        """The number of listed URLs; a URL counted twice counts twice."""
        return sum(self.origins.values())

    @property
    def files(self) -> int:
        """The least number of files, without an index; large entries may need more."""
        return -(-self.urls // limits.MAX_URLS)

    @property
    def cross_submitted(self) -> tuple[str, ...]:
        """The other origins whose robots.txt must name the sitemap."""
        return tuple(origin for origin in self.origins if origin != self.location.origin)


class SitemapPlan:
    """Which sitemap lists which URLs; made by :func:`plan`.

    ``sitemaps`` includes those that list nothing. ``unlisted`` is the number of URLs that none of them may list,
    ``unlisted_examples`` are the first twenty of these.
    """

    def __init__(self, sitemaps: Iterable[str], central: str, name: str) -> None:
        self.sitemaps: list[PlannedSitemap] = []
        self.unlisted = 0
        self.unlisted_examples: list[str] = []
        self._by_directory: dict[str, PlannedSitemap] = {}
        self._central = self._add(central) if central else None
        for url in sitemaps:
            self._add(url)
        self._name = "" if self.sitemaps else name  # file name of the sitemap of each origin
        self._origins: set[str] = set()

    def __repr__(self) -> str:
        listed = ", ".join(f"{sitemap.url}: {sitemap.urls:,} URLs" for sitemap in self.sitemaps[:_EXAMPLES])
        more = ", …" if len(self.sitemaps) > _EXAMPLES else ""
        return f"<SitemapPlan {listed}{more}; {self.unlisted:,} unlisted>"

    def sitemap_for(self, url: str) -> str:
        """The URL of the sitemap that lists a URL, or "" if none may.

        That is the sitemap in the deepest directory that covers the URL, else the central one if the plan has counted a
        URL of that origin: only then does :attr:`robots` have the line for it.
        """
        if (split := _parts(url)) is None:
            return ""
        sitemap = self._find(*split)
        known = sitemap is not self._central or split[0] in self._origins
        return sitemap.url if sitemap and known else ""

    @property
    def cross_submits(self) -> list[tuple[str, str]]:
        """Pairs of a sitemap URL and another origin whose robots.txt must name the sitemap."""
        return [(sitemap.url, origin) for sitemap in self.sitemaps for origin in sitemap.cross_submitted]

    @property
    def robots(self) -> dict[str, list[str]]:
        """The lines that each robots.txt must have, by its URL.

        An origin names its own sitemaps, so that crawlers find them, and those of other origins that list its URLs.
        :func:`sitemap.missing_lines` returns the lines that a robots.txt lacks.
        """
        sitemaps: dict[str, list[str]] = {}
        for sitemap in self.sitemaps:
            for origin in dict.fromkeys((sitemap.location.origin, *sitemap.origins)) if sitemap.origins else ():
                sitemaps.setdefault(origin + "/robots.txt", []).append(sitemap.url)
        return {robots_txt: missing_lines("", urls) for robots_txt, urls in sitemaps.items()}

    def count(self, url: str) -> None:
        """Add one URL to the plan. LimitExceeded if there are too many origins."""
        split = _parts(url)
        sitemap = self._find(*split) if split else None
        if split and not sitemap and self._name:
            sitemap = self._add(f"{split[0]}/{self._name}")
        if not split or not sitemap:
            self.unlisted += 1
            if len(self.unlisted_examples) < _EXAMPLES:
                self.unlisted_examples.append(url)
            return
        origin = split[0]
        self._origins.add(origin)
        if len(self._origins) > _MAX_ORIGINS:
            raise LimitExceeded(f"the URLs are on more than {_MAX_ORIGINS:,} hosts. Plan fewer hosts at once")
        sitemap.origins[origin] = sitemap.origins.get(origin, 0) + 1

    def _add(self, url: str) -> PlannedSitemap:
        planned = PlannedSitemap(Location(url))
        existing = self._by_directory.setdefault(planned.location.directory, planned)
        if existing is planned:
            self.sitemaps.append(planned)
        elif not is_same_document(existing.url, url):
            raise InvalidLocation(
                f"{quote_text(existing.url)} and {quote_text(url)} are in the same directory and cover the same "
                f"URLs. Use only one of them"
            )
        return existing

    def _find(self, origin: str, path: str) -> PlannedSitemap | None:
        """The sitemap for a URL of this origin and path."""
        prefix = origin + path
        while (end := prefix.rfind("/") + 1) > len(origin):
            if sitemap := self._by_directory.get(prefix[:end]):
                return sitemap
            prefix = prefix[: end - 1]
        if self._central and origin != self._central.location.origin:
            return self._central
        return None


def plan(
    urls: Iterable[str], sitemaps: Iterable[str] = (), *, central: str = "", name: str = "sitemap.xml"
) -> SitemapPlan:
    """Plan which sitemap lists which of these URLs. The URLs are streamed: only counts are kept.

    ``sitemaps`` are the URLs of the sitemaps: a page goes to the sitemap in the deepest directory that covers it.
    ``central`` is the URL of a sitemap that also lists pages of other hosts that no sitemap covers; the robots.txt of
    these hosts must name it. With neither, each origin (scheme, host and port) gets a sitemap in its root, with the
    file name ``name``. InvalidLocation for an invalid URL, or for two sitemaps in one directory; LimitExceeded for URLs
    of more than 10,000 origins.

        >>> urls = ["https://example.com/", "https://example.com/blog/1", "https://shop.example/boats", "mailto:me@x.y"]
        >>> [sitemap.url for sitemap in plan(urls).sitemaps]
        ['https://example.com/sitemap.xml', 'https://shop.example/sitemap.xml']
        >>> planned = plan(urls, ["https://example.com/blog/sitemap.xml"], central="https://example.com/sitemap.xml")
        >>> for sitemap in planned.sitemaps:
        ...     print(sitemap.url, sitemap.urls, sitemap.cross_submitted)
        https://example.com/sitemap.xml 2 ('https://shop.example',)
        https://example.com/blog/sitemap.xml 1 ()
        >>> planned.sitemap_for("https://example.com/blog/2"), planned.unlisted_examples
        ('https://example.com/blog/sitemap.xml', ['mailto:me@x.y'])
        >>> for robots_txt, lines in planned.robots.items():
        ...     print(robots_txt, *lines, sep="\\n    ")
        https://example.com/robots.txt
            Sitemap: https://example.com/sitemap.xml
            Sitemap: https://example.com/blog/sitemap.xml
        https://shop.example/robots.txt
            Sitemap: https://example.com/sitemap.xml
    """
    if not name or "/" in name or "\\" in name:
        raise InvalidLocation(f"{quote_text(name)} is not a file name. Give a plain name, such as sitemap.xml")
    planned = SitemapPlan(sitemaps, central, name)
    for url in urls:
        planned.count(url)
    return planned


def _parts(url: str) -> tuple[str, str] | None:
    """Origin and path of a URL that a sitemap can list, else None."""
    if len(url) > limits.MAX_LOC:
        return None
    try:
        return origin_and_path(url)
    except ValueError:
        return None
