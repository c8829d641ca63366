"""The targets of a page: each once, in canonical form, with all the evidence for it. Reads no markup."""

from collections.abc import Iterable
from itertools import islice

from crawler.html.outline import LINK
from crawler.model import Url
from crawler.url.resolve import Resolver


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
        urls = self._resolver.resolve_all(base, [href.partition("#")[0] for href in links], encoding)
        for url, flags in zip(urls, links.values(), strict=True):
            if url is not None:
                self.add(url, flags)

    def add_anchors(self, hrefs: Iterable[str], base: str, encoding: str) -> None:
        """The same for plain links, each given once as written."""
        texts = dict.fromkeys([href.partition("#")[0] if "#" in href else href for href in hrefs])
        new: dict[Url | None, int] = dict.fromkeys(self._resolver.resolve_all(base, texts, encoding), LINK)
        new.pop(None, None)
        found = self.flags
        if found:
            for url, flags in found.items():
                if url in new:
                    new[url] = flags | LINK
            found.update(new)  # type: ignore[arg-type]  # None is gone
        else:
            self.flags = found = new  # type: ignore[assignment]
        if len(found) > self._limit:
            self.flags = dict(islice(found.items(), self._limit))
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
