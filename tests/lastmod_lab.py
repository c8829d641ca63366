"""What runs do with the content of a site, without a crawl around them: compare, read again, judge, learn."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from crawler.lastmod.experiment import SecondRead, choose_second_reads
from crawler.lastmod.memory import SiteMemory
from crawler.lastmod.significance import SAMPLE_SIZE, SignificanceModel, build_significance_model
from crawler.parse.snapshot.diff import Delta, compare, content_keys, joined
from crawler.parse.snapshot.snapshot import take_snapshot


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
    kept: dict[int, bytes] = field(default_factory=dict)
    memory: SiteMemory = field(default_factory=SiteMemory)
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
        paths = list(self.site.pages)
        now = {n: take_snapshot(self.site.render(path)) for n, path in enumerate(paths)}
        deltas: list[tuple[int, Delta]] = [
            (n, compare(self.kept[n], text)) for n, text in now.items() if self.kept.get(n, text) != text
        ]
        step = max(1, len(now) // SAMPLE_SIZE)
        sample = [(content_keys(text), float(step)) for n, text in now.items() if n % step == 0] if deltas else []
        again: dict[int, SecondRead] = {}
        reads: Counter[int] = Counter()
        model = self._model(deltas, sample, again.values())
        while more := self._next_reads(model, deltas, reads):
            reads.update(more)
            for n in more:
                delta = compare(now[n], take_snapshot(self.site.render(paths[n])))
                known = again[n].delta if n in again else Delta()
                again[n] = SecondRead(n, content_keys(now[n]), joined(known, delta))
            model = self._model(deltas, sample, again.values())
        self.reads = sum(reads.values())
        self.deltas = dict(deltas)
        self.judged = {n: model.judge(n, delta) for n, delta in deltas}
        said = {paths[n] for n, judgement in self.judged.items() if judgement.significant}
        self.memory = model.learn(deltas)
        self.kept = now
        return said

    def _model(
        self, deltas: list[tuple[int, Delta]], sample: list[tuple[list[int], float]], again: Iterable[SecondRead]
    ) -> SignificanceModel:
        return build_significance_model(self.memory, lambda: deltas, sample, again, run=self.run)
