"""What was measured, as Markdown: medians with the least and the most, and ratios within a round, never across."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from statistics import median

from tests.benchmarks.measure import MIB, Cost
from tests.benchmarks.stages import Stage


@dataclass(frozen=True)
class Run:
    """One run of one command. ``requests`` are those that the server saw, ``pages`` the URLs in the sitemap."""

    command: str
    round: int
    cost: Cost
    requests: int
    pages: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """Everything but the names of the pages."""
        plain = {"command": self.command, "round": self.round, "requests": self.requests, "pages": len(self.pages)}
        return {**plain, **asdict(self.cost)}


def comparison(runs: list[Run]) -> str:
    """A row for each command, in the order of the first round."""
    first = runs[0].command
    names = list(dict.fromkeys(run.command for run in runs))
    head = ["command", "wall s", "pages/s", "CPU s", "CPU ms/page", "peak RSS MiB (largest process)", "elsewhere CPU s"]
    head += ["requests", "pages", f"those of {first}?"]
    rows = []
    for name in names:
        of = [run for run in runs if run.command == name]
        count = max(1, len(of[0].pages))
        peak, largest = max(run.cost.peak for run in of) / MIB, max(run.cost.largest for run in of) / MIB
        rows.append(
            [
                name,
                spread(run.cost.wall for run in of),
                f"{count / median(run.cost.wall for run in of):,.0f}",
                spread(run.cost.cpu for run in of),
                f"{1000 * median(run.cost.cpu for run in of) / count:.2f}",
                f"{peak:.0f} ({largest:.0f})",
                spread(run.cost.elsewhere for run in of),
                f"{median(run.requests for run in of):,.0f}",
                f"{len(of[0].pages):,}",
                "; ".join(dict.fromkeys(difference(runs, run) for run in of)),
            ]
        )
    return table(head, rows)


def ratios(runs: list[Run]) -> str:
    """How many times as much each peer takes as the first command; "" when there are no peers."""
    first = runs[0].command
    measures: dict[str, Callable[[Run], float]] = {
        "wall": lambda run: run.cost.wall,
        "CPU": lambda run: run.cost.cpu,
        "peak RSS": lambda run: run.cost.peak,
    }
    rows = []
    for name in dict.fromkeys(run.command for run in runs if run.command != first):
        cells = [name]
        for measure in measures.values():
            pairs = [(measure(run), measure(same_round(runs, run))) for run in runs if run.command == name]
            cells.append(spread(theirs / ours for theirs, ours in pairs if ours))
        rows.append(cells)
    return table([f"÷ {first}", *measures], rows) if rows else ""


def stage_table(stages: list[Stage], real: float) -> str:
    """The stages, their sum, and what a real run takes beside them (CPU ms/page)."""
    total = sum(stage.ms for stage in stages)
    rows = [[stage.name, f"{stage.ms:.3f}", f"{stage.ms / real:.0%}", stage.about] for stage in stages]
    rows.append(["**sum**", f"{total:.3f}", f"{total / real:.0%}", "the stages one after the other, each alone"])
    rest = "engine, other requests, colder memory, and all at once instead of one after the other"
    rows.append(["rest", f"{real - total:.3f}", f"{(real - total) / real:.0%}", rest])
    rows.append(["**a real run**", f"{real:.3f}", "100%", "median of the rounds above"])
    return table(["stage", "CPU ms/page", "of a real run", "what"], rows)


def same_round(runs: list[Run], run: Run) -> Run:
    """The run of the first command in the round of a run."""
    return next(one for one in runs if one.command == runs[0].command and one.round == run.round)


def difference(runs: list[Run], run: Run) -> str:
    """Whether the pages of a run are those that the first command found in the same round."""
    own, other = set(run.pages), set(same_round(runs, run).pages)
    said = [f"{len(own - other)} more"] if own - other else []
    said += [f"{len(other - own)} fewer"] if other - own else []
    said += [f"{len(run.pages) - len(own)} twice"] if len(run.pages) > len(own) else []
    return ", ".join(said) or "the same"


def spread(values: Iterable[float]) -> str:
    """The median, and the least and the most where there are several."""
    known = sorted(values)
    if not known:
        return "-"
    return f"{median(known):.2f}" + (f" ({known[0]:.2f}-{known[-1]:.2f})" if len(known) > 1 else "")


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, its columns padded for people."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    ruled = ["-" * max(3, width) for width in widths]
    padded = (
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in (head, ruled, *rows)
    )
    return "\n".join(padded)
