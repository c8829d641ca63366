"""The targets of a page: each once, in canonical form, with all the evidence for it. Reads no markup."""

from crawler.html.outline import LINK
from crawler.model import Url
from crawler.url import Resolver


class Targets:
    """Distinct targets in the order they were first seen, at most ``limit`` of them.

    ``left_out`` is set when there were more.
    """

    __slots__ = ("_limit", "_resolver", "flags", "left_out")

    def __init__(self, resolver: Resolver, limit: int) -> None:
        self._resolver = resolver
        self._limit = limit
        self.flags: dict[Url, int] = {}
        self.left_out = False

    def add_all(self, links: dict[str, int], base: str, encoding: str) -> None:
        """Resolve links as written; what is no http(s) URL is no target. A fragment makes no other target."""
        resolve = self._resolver.resolve
        found = self.flags
        for href, flags in links.items():
            url = resolve(base, href.partition("#")[0] or "#", encoding)
            if url in found:
                found[url] |= flags
            elif url is not None:
                self.add(url, flags)

    def add_anchors(self, hrefs: list[str], base: str, encoding: str) -> None:
        """The same for plain links, of which a page repeats many."""
        resolve = self._resolver.resolve
        texts = dict.fromkeys([href.partition("#")[0] for href in dict.fromkeys(hrefs)])
        found = self.flags
        limit = self._limit
        for text in texts:
            url = resolve(base, text or "#", encoding)
            if url is None:
                continue
            if url in found:
                found[url] |= LINK
            elif len(found) < limit:
                found[url] = LINK
            else:
                self.left_out = True

    def add(self, url: Url, flags: int) -> None:
        """Add evidence for a target."""
        seen = self.flags.get(url)
        if seen is not None:
            self.flags[url] = seen | flags
        elif len(self.flags) < self._limit:
            self.flags[url] = flags
        else:
            self.left_out = True
