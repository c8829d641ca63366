"""What is planted on a site, and what is true of it."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .site import Page, Site
from .sources import Sources


@dataclass
class Expected:
    """A planted problem: one of ``rules`` must name one of ``targets``. A rule that ends in a dot is a family."""

    name: str
    targets: frozenset[str]
    rules: frozenset[str]

    @property
    def is_listed_wrongly(self) -> bool:
        """Whether the entry of the sitemap and one answer prove it, however many other pages fail."""
        return all(rule.startswith(("entry.", "lastmod.")) for rule in self.rules)

    def met_by(self, rule: str, target: str) -> bool:
        return target in self.targets and any(
            rule == each or (each[-1] == "." and rule.startswith(each)) for each in self.rules
        )


@dataclass
class Plan:
    """A site on which problems are planted, and what is true of it."""

    site: Site
    sources: Sources = field(default_factory=Sources)
    expected: list[Expected] = field(default_factory=list)
    allowed: list[Expected] = field(default_factory=list)  # true as well, but nobody has to report it
    name: str = ""
    count: int = 0

    @property
    def dice(self) -> random.Random:
        return self.site.dice

    def target(self, ending: str = "") -> str:
        """A new target in one of the manners of the web."""
        self.count += 1
        word = f"{'-'.join(self.site.sentence(2)[:-1].lower().split())}-n{self.count}"
        folder = self.dice.choice(("", "/guide", "/Guide", "/blog/2024/05", "/p", "/wiki", "/caf%C3%A9", "/a/b/c"))
        return f"{folder}/{word}{ending or self.dice.choice(('', '', '/', '/', '.html', '.php', '?v=1'))}"

    def page(self, target: str = "", title: str = "", words: int = 0) -> Page:
        return self.site.page(target or self.target(), title, words)

    def link(self, page: Page | str, count: int = 3, rel: str = "") -> list[Page]:
        """Links from ordinary pages."""
        target = page if isinstance(page, str) else page.target
        choice = [each for each in self.site.ordinary if each.target != target]
        sources = self.dice.sample(choice, min(count, len(choice)))
        for each in sources:
            each.links[target] = rel
        return sources

    def ordinary(self) -> Page:
        return self.dice.choice(self.site.ordinary)

    def healthy(self, target: str = "") -> Page:
        """A new page, listed and linked."""
        page = self.page(target)
        self.site.submit(page)
        self.link(page)
        return page

    def answer(self, status: int, location: str = "", target: str = "") -> Page:
        page = self.site.page(target or self.target(), f"Status {status}", 8)
        page.status, page.location = status, location
        page.canonical = ""
        return page

    def expect(self, targets: Page | str | Iterable[str], *rules: str, name: str = "") -> None:
        self.expected.append(Expected(name or self.name, _targets(targets), frozenset(rules)))

    def allow(self, targets: Page | str | Iterable[str], *rules: str) -> None:
        self.allowed.append(Expected(self.name, _targets(targets), frozenset(rules)))

    def known(self, page: Page | str) -> None:
        """Somebody outside knows the URL: visitors, a search engine or another site."""
        target = page if isinstance(page, str) else page.target
        way = self.dice.choice(("log", "search", "analytics", "backlinks"))
        if way == "log":
            self.sources.visits(target, self.dice.choice((6, 20)))
        elif way == "search":
            self.sources.search[target] = (self.dice.choice((0, 5)), 60)
        elif way == "analytics":
            self.sources.analytics[target] = 9
        else:
            self.sources.backlinks[target] = 3


def _targets(targets: Page | str | Iterable[str]) -> frozenset[str]:
    if isinstance(targets, Page):
        return frozenset({targets.target})
    return frozenset({targets} if isinstance(targets, str) else targets)


Plant = Callable[[Plan], None]
