"""Generations of a made site: which pages are said to have changed, in precision and recall."""

from zlib import crc32

import pytest
from lastmod_lab import Score
from madesite import Site

from crawler.lastmod.changes import SAMPLE_SIZE
from crawler.lastmod.memory import SiteMemory
from crawler.lastmod.significance import build_significance_model
from crawler.parse.snapshot.diff import Delta, compare, content_keys
from crawler.parse.snapshot.snapshot import take_snapshot


class Watcher:
    """What a run does with content, without a crawl around it."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.learnt = SiteMemory()

    def visit(self, bodies: dict[str, bytes]) -> set[str]:
        """The known pages that are said to have changed."""
        now = {path: take_snapshot(body) for path, body in bodies.items()}
        paths = [path for path, kept in now.items() if self.kept.get(path, kept) != kept]
        deltas: list[tuple[int, Delta]] = [
            (n, compare(self.kept[path], now[path])) for n, path in enumerate(now) if path in paths
        ]
        sample = {n: content_keys(text) for n, (path, text) in enumerate(now.items()) if path in self.kept}
        made = build_significance_model(self.learnt, lambda: deltas, len(sample), lambda: sample, run=0)
        told = {[*now][n] for n, delta in deltas if made.judge(n, delta).significant}
        self.learnt = made.learn()
        self.kept = now
        return told


def moved(server: str, generation: int, edited: set[str], pages: set[str]) -> set[str]:
    """The pages whose Last-Modified moves, by what kind of server the site has."""
    if server in {"now", "future"} or (server == "deploy" and generation % 3 == 0):
        return pages
    return edited if server == "deploy" else set()  # "1970"


@pytest.mark.parametrize(
    "generations", [pytest.param(12, marks=pytest.mark.thorough), pytest.param(30, marks=pytest.mark.slow)]
)
def test_ours_generations_of_edits_under_the_noise_of_real_sites(generations: int) -> None:
    site, watcher = Site(articles=64, products=16, lists=4), Watcher()
    servers = ("now", "deploy", "future", "1970")
    scores = {name: Score() for name in ("ours", "whole body", *servers)}
    bodies = {path: site.render(path) for path in list(site.pages)}
    watcher.visit(bodies)
    for generation in range(1, generations + 1):
        site.redesigned = generation >= generations // 2
        site.footer = f"Made by Acme Group, part {'I' * (generation * 3 // generations)}."
        edited = site.edit(0.25 if generation == generations // 3 else 0.04)
        before, bodies = bodies, {path: site.render(path) for path in list(site.pages)}
        scores["ours"].count(watcher.visit(bodies), edited)
        scores["whole body"].count({path for path in before if before[path] != bodies[path]}, edited)
        for server in servers:
            scores[server].count(moved(server, generation, edited, set(before)), edited)
    print(f"\nprecision / recall over {generations} generations of {len(bodies)} pages")
    for name, score in scores.items():
        title = name if name in {"ours", "whole body"} else f"header: {name}"
        print(f"{title:16}{score.precision:.4f} / {score.recall:.4f}")
    assert scores["ours"].precision >= 0.99
    assert scores["ours"].recall >= 0.99
    assert all(min(score.precision, score.recall) < 0.2 for name, score in scores.items() if name != "ours")


@pytest.mark.thorough
def test_ours_a_sample_of_a_large_site_judges_as_all_of_it() -> None:
    site = Site(seed=5, articles=500, products=50, lists=6)
    first = {path: take_snapshot(site.render(path)) for path in list(site.pages)}
    edited = site.edit(0.02) & set(first)
    now = {path: take_snapshot(site.render(path)) for path in first}
    deltas = {path: compare(first[path], now[path]) for path in first}
    some = sorted(now, key=lambda path: crc32(path.encode()))[:SAMPLE_SIZE]
    sample = {[*now].index(path): content_keys(now[path]) for path in some}
    numbered = list(enumerate(deltas.values()))
    made = build_significance_model(SiteMemory(), lambda: numbered, len(now), lambda: sample, run=0)
    score = Score()
    score.count({path for n, path in enumerate(deltas) if made.judge(n, deltas[path]).significant}, edited)
    assert score.precision >= 0.99
    assert score.recall >= 0.99
