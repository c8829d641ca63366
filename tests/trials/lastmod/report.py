"""The tables of many trials: precision and recall by size, system, noise and edit."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from tests.trials.lastmod.edits import WHOLE
from tests.trials.lastmod.trial import Result


def share(part: int, rest: int) -> float:
    """1.0 if there is nothing at all."""
    return part / (part + rest) if part + rest else 1.0


class Score:
    """Counted pages."""

    def __init__(self, results: Iterable[Result] = ()) -> None:
        self.right = self.missed = self.false = self.trials = 0
        for result in results:
            self.add(result)

    def add(self, result: Result) -> None:
        """Count the edits of single pages; those of whole sections have a row of their own among the edits."""
        self.trials += 1
        self.right += sum(each.kind not in WHOLE for each in result.right)
        self.missed += sum(each.edit is not None and each.edit.kind not in WHOLE for each in result.missed)
        self.false += len(result.false)

    @property
    def precision(self) -> float:
        return share(self.right, self.false)

    @property
    def recall(self) -> float:
        return share(self.right, self.missed)

    def line(self, name: str) -> str:
        return f"{self.precision:9.3f} {self.recall:7.3f} {self.false:6} {self.missed:6} {self.trials:6}  {name}"


_HEAD = "precision  recall  false missed trials"


def table(results: list[Result]) -> str:
    """Everything, for people."""
    lines = [_HEAD, Score(results).line("all"), ""]
    lines += _by("system and pages", results, lambda each: [f"{each.drawn.system} {each.drawn.pages}"])
    lines += _by("noises at a time", results, lambda each: [str(each.drawn.noises)])
    alone = [each for each in results if each.drawn.noises == 1]
    if alone:
        lines += _by("value of the noise, alone", alone, lambda each: [each.noises[0].partition(" in ")[0]])
        lines += _by("place of the noise, alone", alone, lambda each: [_part(each.noises[0], 0).partition(" in ")[2]])
        lines += _by("movement of the noise, alone", alone, lambda each: [_part(each.noises[0], 1)])
        lines += _by("spread of the noise, alone", alone, lambda each: [_part(each.noises[0], 2).partition(" [")[0]])
    lines += _edits(results)
    kinds = {name.partition(" [")[0].rpartition(", ")[0] for each in results for name in each.noises}
    lines += [
        "",
        f"{len(kinds)} distinct noises, {len(results)} trials, {sum(not each.is_right for each in results)} not right",
    ]
    lines += [f"  {each.drawn}: {why}" for each in results for why in each.refused]
    return "\n".join(lines)


def _part(name: str, number: int) -> str:
    return name.split(", ")[number]


def _by(title: str, results: list[Result], names: Callable[[Result], list[str]]) -> list[str]:
    scores: defaultdict[str, Score] = defaultdict(Score)
    for result in results:
        for name in names(result):
            scores[name].add(result)
    rows = sorted(scores.items(), key=lambda each: (min(each[1].precision, each[1].recall), each[0]))
    return [f"{_HEAD}  by {title}", *(score.line(name) for name, score in rows), ""]


def _edits(results: list[Result]) -> list[str]:
    right = Counter(each.kind for result in results for each in result.right)
    missed = Counter(each.edit.kind for result in results for each in result.missed if each.edit)
    rows = sorted((share(right[kind], missed[kind]), kind) for kind in right | missed)
    return [
        "recall   done missed  by edit",
        *(f"{part:6.3f} {right[kind] + missed[kind]:6} {missed[kind]:6}  {kind}" for part, kind in rows),
    ]


def failures(result: Result, most: int = 4) -> str:
    """What a trial that is not right showed, for people."""
    lines = [
        f"{result.drawn}",
        *(f"  noise: {name}" for name in result.noises),
        *(f"  {why}" for why in result.refused),
    ]
    for title, wrongs in (("moved without an edit", result.false), ("not moved with an edit", result.missed)):
        if wrongs:
            lines.append(f"  {title}: {len(wrongs)} in runs {sorted({each.run for each in wrongs})}")
        for each in wrongs[:most]:
            what = f" ({each.edit.kind}: {each.edit.what[:200]})" if each.edit else ""
            lines += [f"    run {each.run} {each.path}{what}", *(f"      {line}" for line in each.shown)]
    return "\n".join(lines)


def as_json(results: list[Result]) -> dict[str, Any]:
    """Everything, for programs."""
    score = Score(results)
    return {
        "precision": score.precision,
        "recall": score.recall,
        "trials": [asdict(result) | {"right": [each.kind for each in result.right]} for result in results],
    }
