"""What is published is one whole generation at every instant, whatever system call is the last, or fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from generations import content, expected, publish, seen
from traced import Outcome, Publisher, points, publisher

from sitemap import Directory

Point = tuple[str, int]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Publisher]:
    with publisher(tmp_path_factory.mktemp("publisher")) as ready:
        yield ready


def undisturbed(folder: Path, generations: tuple[str, ...], *, gzip: bool = False) -> dict[str, bytes]:
    for generation in generations:
        publish(folder, generation, gzip=gzip)
    return content(folder)


def all_points(traced: Publisher, folder: Path, old: str, new: str, *, gzip: bool = False) -> list[Point]:
    publish(folder, old, gzip=gzip)
    outcome = traced.publish(folder, new, gzip=gzip)
    assert (outcome.status, outcome.said) == (0, "published")
    found = points(outcome.calls)
    assert len(found) > 20
    return found


def whole(folder: Path, old: str, new: str, *, gzip: bool = False) -> str:
    """Which generation a reader sees. One of both, and wholly."""
    name = "sitemap.xml" if (folder / "sitemap.xml").exists() else "sitemap.xml.gz"
    pages = seen(folder, name)
    for generation in (old, new):
        if pages == expected(generation):
            return generation
    raise AssertionError(f"two generations are mixed: {pages}")


def ended(outcome: Outcome, call: str) -> None:
    """A kill is a kill, but for calls that come after everything was told."""
    assert outcome.status == -9, f"{call}: {outcome}"


# The publish of "new" changes three children, adds one and drops one; that of "same-index" leaves the bytes of the
# index as they are; "alone" is one file that takes the place of an index, or gives place to one.
WAYS = [("old", "new", False), ("old", "new", True), ("old", "same-index", False), ("alone", "old", False)]
WAYS += [("old", "alone", False), ("old", "alone", True), ("alone", "old", True), ("alone", "new", False)]


def kill_everywhere(traced: Publisher, work: Path, way: tuple[str, str, bool], step: int) -> None:
    old, new, gzip = way
    end = undisturbed(work / "end", (old, new), gzip=gzip)
    for name, count in all_points(traced, work / "dry", old, new, gzip=gzip)[::step]:
        folder = work / f"{name}-{count}"
        publish(folder, old, gzip=gzip)
        outcome = traced.publish(folder, new, f"{name}:signal=KILL:when={count}", gzip=gzip)
        assert outcome.status == -9, (name, count, outcome)
        before = whole(folder, old, new)  # nobody has mended anything
        Directory(folder, settle=0).check()
        after = whole(folder, old, new)
        assert after in (before, new)
        publish(folder, new, gzip=gzip)
        assert content(folder) == end, (name, count)


@pytest.mark.needs_strace
def test_ours_a_kill_at_a_system_call_leaves_one_whole_generation(traced: Publisher, tmp_path: Path) -> None:
    kill_everywhere(traced, tmp_path, WAYS[0], 7)
