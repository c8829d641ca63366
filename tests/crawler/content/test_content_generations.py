"""Thirty generations of a made site: which pages are said to have changed, in precision and recall."""

from madesite import Site

from crawler.content import Delta, Habit, compare, holdings, keep, survey

GENERATIONS = 30


class Score:
    def __init__(self) -> None:
        self.right = self.wrong = self.missed = 0

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


class Watcher:
    """What a run does with content, without a crawl around it."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.learnt: dict[int, Habit] = {}

    def visit(self, bodies: dict[str, bytes]) -> set[str]:
        """The known pages that are said to have changed."""
        now = {path: keep(body) for path, body in bodies.items()}
        deltas: dict[str, Delta] = {
            path: compare(self.kept[path], kept)
            for path, kept in now.items()
            if self.kept.get(path, kept) != kept
        }
        made = survey(self.learnt, deltas.values, ((holdings(kept), 1.0) for kept in now.values()))
        self.learnt = made.learnt
        self.kept = now
        return {path for path, delta in deltas.items() if made.significant(delta)}


def test_ours_thirty_generations_of_edits_under_the_noise_of_real_sites() -> None:
    site, watcher = Site(), Watcher()
    ours, whole = Score(), Score()
    bodies = {path: site.render(path) for path in list(site.pages)}
    watcher.visit(bodies)
    for generation in range(1, GENERATIONS + 1):
        site.redesigned = generation >= 15
        site.footer = f"Made by Acme Group, part {'I' * (generation // 10)}."
        edited = site.edit(0.25 if generation == 11 else 0.04)
        before, bodies = bodies, {path: site.render(path) for path in list(site.pages)}
        ours.count(watcher.visit(bodies), edited)
        whole.count({path for path in before if before[path] != bodies[path]}, edited)
    print(f"\nprecision / recall over {GENERATIONS} generations of {len(bodies)} pages")
    for name, score in (("ours", ours), ("whole body", whole)):
        print(f"{name:12}{score.precision:.4f} / {score.recall:.4f}")
    assert ours.precision >= 0.99
    assert ours.recall >= 0.99
    assert whole.precision < 0.2
