"""What runs do with the content of a site, without a crawl around them: compare, read again, judge, learn."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Protocol

from crawler.lastmod.changes import SAMPLE_SIZE
from crawler.lastmod.memory import SecondRead, SiteMemory
from crawler.lastmod.significance import SignificanceModel, build_significance_model
from crawler.lastmod.variation import choose_second_reads
from crawler.model import Url
from crawler.parse.snapshot.diff import Delta, compare, content_keys, joined, with_news
from crawler.parse.snapshot.snapshot import take_snapshot

_ORIGIN = "https://example.com"


class Rendered(Protocol):
    """A site: its paths, and what a visitor of each is shown."""

    @property
    def pages(self) -> Collection[str]: ...

    def render(self, path: str) -> bytes: ...


@dataclass
class Score:
    """Pages that are said to have changed: rightly, wrongly, and missed."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    def count(self, said: set[str], edited: set[str]) -> None:
        self.right += len(said & edited)
        self.wrong += len(said - edited)
        self.missed += len(edited - said)

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + self.missed)


@dataclass
class Lab:
    """Visits a site run by run. ``reads`` counts the second reads of the last run."""

    site: Rendered
    limit: int = 60
    translations: Callable[[str], str] | None = None
    kept: dict[int, bytes] = field(default_factory=dict)
    memory: SiteMemory = field(default_factory=SiteMemory)
    ids: dict[str, int] = field(default_factory=dict)
    run: int = 0
    reads: int = 0

    def _next_reads(
        self, model: SignificanceModel, deltas: list[tuple[int, Delta]], reads: Mapping[int, int]
    ) -> list[int]:
        judged = ((n, model.judge(n, delta).significant) for n, delta in deltas)
        return choose_second_reads(judged, reads, self.limit - sum(reads.values()))

    def visit(self) -> set[str]:
        """One run; the paths of the pages that are said to have changed."""
        self.run += 1
        new = {f"{_ORIGIN}{path}" for path in self.site.pages if path not in self.ids}
        for path in self.site.pages:
            self.ids.setdefault(path, len(self.ids))
        paths = {n: path for path, n in self.ids.items()}
        now = {self.ids[path]: take_snapshot(self.site.render(path)) for path in self.site.pages}
        deltas: list[tuple[int, Delta]] = [
            (n, with_news(compare(self.kept[n], text), Url(f"{_ORIGIN}{paths[n]}"), new))
            for n, text in now.items()
            if self.kept.get(n, text) != text
        ]
        step = max(1, len(now) // SAMPLE_SIZE)
        compared = [n for n in now if n in self.kept]

        stand: dict[str, int] = {}
        translated = {n: stand.setdefault(self.translations(paths[n]), n) for n in compared if self.translations}

        def beside(page: int) -> int:
            return translated.get(page, page)

        @cache
        def sample() -> dict[int, list[int]]:
            return {n: content_keys(now[n]) for n in sorted(compared[::step], key=beside)}

        pages = len(compared)
        deltas.sort(key=lambda pair: beside(pair[0]))
        again: dict[int, SecondRead] = {}
        reads: Counter[int] = Counter()

        def build() -> SignificanceModel:
            return build_significance_model(
                self.memory, lambda: deltas, pages, sample, again.values(), run=self.run, translated=translated
            )

        model = build()
        while more := self._next_reads(model, deltas, reads):
            reads.update(more)
            for n in more:
                delta = compare(now[n], take_snapshot(self.site.render(paths[n])))
                known = again[n].delta if n in again else Delta()
                again[n] = SecondRead(n, partial(content_keys, now[n]), joined(known, delta))
            model = build()
        self.reads = sum(reads.values())
        self.deltas = dict(deltas)
        self.judged = {n: model.judge(n, delta) for n, delta in deltas}
        said = {paths[n] for n, judgement in self.judged.items() if judgement.significant}
        self.memory = model.learn()
        self.model = model
        self.kept = now
        return said
