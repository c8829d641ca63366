"""Owns the plan of several sitemaps for several directories or hosts, and the robots.txt lines that it needs. Pure.

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

_MAX_ORIGINS: Final = 10_000  # a plan is for people to carry out, and is held in memory
_EXAMPLES: Final = 20


@dataclass(slots=True)
class PlannedSitemap:
    """One sitemap of a plan: where it is, and how many URLs of which origins it lists."""

    location: Location
    origins: dict[str, int] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Its address."""
        return self.location.url

    @property
    def urls(self) -> int:
        """How many URLs it lists; one that came twice counts twice."""
        return sum(self.origins.values())

    @property
    def files(self) -> int:
        """How many files that takes at least, besides an index; big entries may take more."""
        return -(-self.urls // limits.MAX_URLS)

    @property
    def cross_submitted(self) -> tuple[str, ...]:
        """The other origins whose robots.txt must name it."""
        return tuple(where for where in self.origins if where != self.location.origin)


class SitemapPlan:
    """Which sitemap lists what, made by :func:`plan`.

    ``sitemaps`` are all of the plan, also those that came to list nothing. ``unlisted`` is the number of URLs that none
    of them may list, ``unlisted_examples`` are the first twenty of these.
    """

    def __init__(self, sitemaps: Iterable[str], central: str, name: str) -> None:
        self.sitemaps: list[PlannedSitemap] = []
        self.unlisted = 0
        self.unlisted_examples: list[str] = []
        self._by_directory: dict[str, PlannedSitemap] = {}
        self._central = self._add(central) if central else None
        for url in sitemaps:
            self._add(url)
        self._name = "" if self.sitemaps else name  # of the sitemap that each origin gets
        self._origins: set[str] = set()

    def __repr__(self) -> str:
        listed = ", ".join(f"{each.url}: {each.urls:,} URLs" for each in self.sitemaps[:_EXAMPLES])
        more = ", …" if len(self.sitemaps) > _EXAMPLES else ""
        return f"<SitemapPlan {listed}{more}; {self.unlisted:,} unlisted>"

    def sitemap_for(self, url: str) -> str:
        """The address of the sitemap that lists a URL, or "" when none may.

        That is the one in the deepest directory that covers it, else the central one if the plan has seen a URL of that
        origin: of others nobody knows that their robots.txt must name it.
        """
        if (split := _parts(url)) is None:
            return ""
        found = self._find(*split)
        seen = found is not self._central or split[0] in self._origins
        return found.url if found and seen else ""

    @property
    def cross_submits(self) -> list[tuple[str, str]]:
        """Each sitemap and origin where the origin's robots.txt must name the sitemap, which is of another origin."""
        return [(each.url, where) for each in self.sitemaps for where in each.cross_submitted]

    @property
    def robots(self) -> dict[str, list[str]]:
        """The lines that each robots.txt must have, by its address.

        An origin names its own sitemaps, so that they are found, and those of others that list its URLs. What a
        robots.txt lacks of them is told by :func:`sitemap.missing_lines`.
        """
        named: dict[str, list[str]] = {}
        for each in self.sitemaps:
            for where in dict.fromkeys((each.location.origin, *each.origins)) if each.origins else ():
                named.setdefault(where + "/robots.txt", []).append(each.url)
        return {robots_txt: missing_lines("", urls) for robots_txt, urls in named.items()}

    def count(self, url: str) -> None:
        """Take one more URL into the plan. LimitExceeded for the first of too many origins."""
        split = _parts(url)
        found = self._find(*split) if split else None
        if split and not found and self._name:
            found = self._add(f"{split[0]}/{self._name}")
        if not split or not found:
            self.unlisted += 1
            if len(self.unlisted_examples) < _EXAMPLES:
                self.unlisted_examples.append(url)
            return
        where = split[0]
        self._origins.add(where)
        if len(self._origins) > _MAX_ORIGINS:
            raise LimitExceeded(f"the URLs are of more than {_MAX_ORIGINS:,} hosts: plan them in parts")
        found.origins[where] = found.origins.get(where, 0) + 1

    def _add(self, url: str) -> PlannedSitemap:
        planned = PlannedSitemap(Location(url))
        before = self._by_directory.setdefault(planned.location.directory, planned)
        if before is planned:
            self.sitemaps.append(planned)
        elif not is_same_document(before.url, url):
            raise InvalidLocation(
                f"{quote_text(before.url)} and {quote_text(url)} are in one directory and cover the same "
                "URLs: name one of them"
            )
        return before

    def _find(self, where: str, path: str) -> PlannedSitemap | None:
        """The sitemap for a URL of this origin and path."""
        prefix = where + path
        while (end := prefix.rfind("/") + 1) > len(where):
            if found := self._by_directory.get(prefix[:end]):
                return found
            prefix = prefix[: end - 1]
        if self._central and where != self._central.location.origin:
            return self._central
        return None


def plan(
    urls: Iterable[str], sitemaps: Iterable[str] = (), *, central: str = "", name: str = "sitemap.xml"
) -> SitemapPlan:
    """Plan which sitemap lists which of these URLs. They are streamed: only counts are kept.

    ``sitemaps`` are the addresses wanted: a URL goes to the one in the deepest directory that covers it. ``central`` is
    the address of one that also takes what no other covers, of other hosts: their robots.txt must then name it. With
    neither, each origin (scheme, host and port) gets one in its root, called ``name``.
    InvalidLocation for a bad address, or two in one directory; LimitExceeded for URLs of more than 10,000 origins.

        >>> urls = ["https://example.com/", "https://example.com/blog/1", "https://shop.example/boats", "mailto:me@x.y"]
        >>> [each.url for each in plan(urls).sitemaps]
        ['https://example.com/sitemap.xml', 'https://shop.example/sitemap.xml']
        >>> planned = plan(urls, ["https://example.com/blog/sitemap.xml"], central="https://example.com/sitemap.xml")
        >>> for each in planned.sitemaps:
        ...     print(each.url, each.urls, each.cross_submitted)
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
        raise InvalidLocation(f"{quote_text(name)} is no file name: each origin's sitemap is in its root")
    planned = SitemapPlan(sitemaps, central, name)
    for url in urls:
        planned.count(url)
    return planned


def _parts(url: str) -> tuple[str, str] | None:
    """Origin and path of a URL that a sitemap may list somewhere, else None."""
    if len(url) > limits.MAX_LOC:
        return None
    try:
        return origin_and_path(url)
    except ValueError:
        return None
