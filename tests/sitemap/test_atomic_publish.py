"""What is published is one whole generation at every instant, whatever system call is the last, or fails."""

import json
import re
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from marked_sets import content, expected, publish, recover, seen
from traced import Traced, points

from sitemap import Directory

pytestmark = pytest.mark.needs_strace

Point = tuple[str, int]
# From which generation to which, and whether packed. From "old" to "new" three children change, one is added and one
# dropped; to "same-index" the bytes of the index stay; "alone" is a single file.
Way = tuple[str, str, bool]
CHANGES: Way = ("old", "new", False)
WAYS: list[Way] = [
    CHANGES,
    ("old", "new", True),
    ("old", "same-index", False),
    ("old", "alone", False),
    ("alone", "old", False),
    ("old", "alone", True),
    ("alone", "old", True),
    ("", "old", False),
    ("old", "old", False),
]


def begin(folder: Path, way: Way) -> None:
    folder.mkdir()
    if way[0]:
        publish(folder, way[0], gzip=way[2])


def end(folder: Path, way: Way) -> dict[str, bytes]:
    """What there is when nothing disturbs."""
    begin(folder, way)
    publish(folder, way[1], gzip=way[2])
    return content(folder)


def which(folder: Path, way: Way) -> str:
    """The generation that a reader sees. One of both, and wholly."""
    lead = next((name for name in ("sitemap.xml", "sitemap.xml.gz") if (folder / name).exists()), None)
    pages = seen(folder, lead) if lead else []
    for generation in way[:2]:
        if pages == (expected(generation) if generation else []):
            return generation
    raise AssertionError(f"two generations are mixed: {pages}")


def durable_calls(process: Traced, folder: Path, way: Way, inject: Sequence[str] = ()) -> list[Point]:
    begin(folder, way)
    outcome = process.run(inject, "publish", folder, way[1], gzip=way[2], grace=3600)
    assert inject or (outcome.status, outcome.said) == (0, "done")
    return points(outcome.calls)


def kill_in_publish(
    process: Traced, folder: Path, way: Way, point: Point, inject: Sequence[str] = ()
) -> tuple[str, str]:
    """Kill a publish before a system call; the generations seen before and after the next start."""
    begin(folder, way)
    kill = f"{point[0]}:signal=KILL:when={point[1]}"
    outcome = process.run([*inject, kill], "publish", folder, way[1], gzip=way[2], grace=3600)
    assert outcome.status == -signal.SIGKILL, (point, outcome)
    before = which(folder, way)  # nobody has mended anything
    recover(folder, grace=3600)
    return before, which(folder, way)


def kill_everywhere(
    process: Traced, work: Path, way: Way, step: int = 1, inject: Sequence[str] = ()
) -> set[tuple[str, str]]:
    wanted = end(work / "end", way)
    ends = set()
    for name, count in durable_calls(process, work / "dry", way, inject)[::step]:
        folder = work / f"{name}-{count}"
        ends.add(kill_in_publish(process, folder, way, (name, count), inject))
        publish(folder, way[1], gzip=way[2])
        assert content(folder) == wanted, (name, count)
    return ends


@pytest.mark.thorough
def test_ours_a_kill_at_a_system_call_leaves_one_whole_generation(process: Traced, memory: Path) -> None:
    ends = kill_everywhere(process, memory, CHANGES, step=6)
    assert ends == {("old", "old"), ("old", "new"), ("new", "new")}  # what is begun is finished


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0]}-{way[1]}-{'gz' if way[2] else 'xml'}")
def test_ours_a_kill_at_every_system_call_leaves_one_whole_generation(process: Traced, memory: Path, way: Way) -> None:
    ends = kill_everywhere(process, memory, way)
    assert all(after in (before, way[1]) for before, after in ends)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ours_a_kill_where_there_are_no_links_leaves_one_whole_generation(process: Traced, memory: Path) -> None:
    kill_everywhere(process, memory, CHANGES, inject=["linkat:error=EPERM"])


def kill_in_recovery(process: Traced, work: Path, way: Way, first: Point, step: int) -> None:
    """Kill a publish, then its recovery at many calls, then let that be."""
    wanted = end(work / "end", way)

    def left(folder: Path) -> None:
        begin(folder, way)
        kill = f"{first[0]}:signal=KILL:when={first[1]}"
        process.run([kill], "publish", folder, way[1], gzip=way[2], grace=3600)

    left(work / "dry")
    calls = points(process.run([], "recover", work / "dry", 3600).calls)
    for name, count in calls[::step]:
        folder = work / f"{name}-{count}"
        left(folder)
        before = which(folder, way)
        outcome = process.run([f"{name}:signal=KILL:when={count}"], "recover", folder, 3600)
        assert outcome.status == -signal.SIGKILL, (first, name, count, outcome)
        assert which(folder, way) in (before, way[1])
        recover(folder)
        assert which(folder, way) in (before, way[1])
        publish(folder, way[1], gzip=way[2])
        assert content(folder) == wanted, (first, name, count)


def test_ours_a_kill_in_the_recovery_leaves_one_whole_generation(process: Traced, memory: Path) -> None:
    kill_in_recovery(process, memory, CHANGES, ("rename", 2), step=6)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_ours_a_kill_at_every_call_of_a_recovery_leaves_one_whole_generation(process: Traced, memory: Path) -> None:
    calls = durable_calls(process, memory / "dry", CHANGES)
    for number, point in enumerate(calls[::5]):
        work = memory / str(number)
        work.mkdir()
        kill_in_recovery(process, work, CHANGES, point, step=2)


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Public files, and which ones they are. What only waits to be swept is left out."""
    note = folder / ".siteatlas-waiting"
    waiting = json.loads(note.read_bytes()) if note.exists() else {}
    return {
        path.name: (path.stat().st_ino, path.read_bytes())
        for path in folder.iterdir()
        if path.is_file() and path.name not in waiting and path != note
    }


def fail_everywhere(process: Traced, work: Path, way: Way, error: str, step: int = 1) -> set[str]:
    wanted = end(work / "end", way)
    said = set()
    for name, count in durable_calls(process, work / "dry", way)[:-1][::step]:  # the last tells the end
        folder = work / f"{name}-{count}"
        begin(folder, way)
        before = state(folder)
        inject = f"{name}:error={error}:when={count}"
        outcome = process.run([inject], "publish", folder, way[1], gzip=way[2], grace=3600)
        said.add(outcome.said.partition(":")[0])
        if outcome.said == "done":
            assert which(folder, way) == way[1], (name, count)
        else:
            assert outcome.said.startswith("DestinationError"), (name, count, outcome)
            assert state(folder) == before, (name, count, outcome)
            recover(folder, grace=3600)
            assert state(folder) == before, (name, count, outcome)
        publish(folder, way[1], gzip=way[2])
        assert content(folder) == wanted, (name, count)
    return said


@pytest.mark.thorough
@pytest.mark.parametrize(("error", "step"), [("EIO", 11), ("ENOSPC", 17)])
def test_ours_a_failing_system_call_puts_everything_back(process: Traced, memory: Path, error: str, step: int) -> None:
    said = fail_everywhere(process, memory, CHANGES, error, step)
    assert said == {"done", "DestinationError"}


def test_ours_a_switch_that_may_not_be_durable_is_taken_back(process: Traced, memory: Path) -> None:
    lead = str(memory / "dry" / "sitemap.xml")
    begin(memory / "dry", CHANGES)
    calls = process.run([], "publish", memory / "dry", "new").calls
    switch = next(number for number, (_, _, line) in enumerate(calls) if line.startswith("rename") and lead in line)
    count = next(count for name, count, _ in calls[switch:] if name == "fsync")
    begin(memory / "public", CHANGES)
    before = state(memory / "public")
    outcome = process.run([f"fsync:error=EIO:when={count}"], "publish", memory / "public", "new", grace=3600)
    assert outcome.said.startswith("DestinationError")
    assert state(memory / "public") == before
    waiting = json.loads((memory / "public" / ".siteatlas-waiting").read_bytes())
    assert len(waiting) == 5  # whoever read the new index finds what it lists


def test_ours_who_began_before_a_crash_publishes_after_it(process: Traced, memory: Path) -> None:
    wanted = end(memory / "end", CHANGES)
    begin(memory / "public", CHANGES)
    stage = Directory(memory / "public", settle=0, grace=0).stage()
    for name in ("sitemap.css", "sitemap.xml"):
        with stage.create(name) as file:
            file.write((memory / "public" / name).read_bytes() + b"<!-- later -->")
    outcome = process.run(["rename:signal=KILL:when=3"], "publish", memory / "public", "new", grace=0)
    assert outcome.status == -signal.SIGKILL
    stage.commit(["sitemap.xml"], re.compile("(?!)"), ["sitemap.css"], lambda *_: None)
    stage.discard()
    for name in ("sitemap.css", "sitemap.xml"):
        assert (memory / "public" / name).read_bytes().endswith(b"<!-- later -->")
    assert set(content(memory / "public")) == set(wanted)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("error", ["EIO", "ENOSPC", "EACCES"])
@pytest.mark.parametrize("way", WAYS[:5], ids=lambda way: f"{way[0]}-{way[1]}-{'gz' if way[2] else 'xml'}")
def test_ours_every_failing_system_call_puts_everything_back(
    process: Traced, memory: Path, way: Way, error: str
) -> None:
    fail_everywhere(process, memory, way, error)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_ours_a_kill_while_everything_is_put_back_leaves_one_whole_generation(process: Traced, memory: Path) -> None:
    for name, count in durable_calls(process, memory / "dry", CHANGES):
        if name in {"fsync", "rename", "linkat"}:
            work = memory / f"{name}-{count}"
            work.mkdir()
            kill_everywhere(process, work, CHANGES, step=4, inject=[f"{name}:error=EIO:when={count}"])


def test_ours_where_there_are_no_links_copies_do(process: Traced, memory: Path) -> None:
    wanted = end(memory / "end", CHANGES)
    begin(memory / "public", CHANGES)
    outcome = process.run(["linkat:error=EPERM"], "publish", memory / "public", "new")
    assert outcome.said == "done"
    assert content(memory / "public") == wanted


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ours_a_disk_that_fails_for_good_leaves_one_whole_generation(process: Traced, memory: Path) -> None:
    calls = durable_calls(process, memory / "dry", CHANGES)[:-1]
    assert len(calls) > 5
    for name, count in calls:
        folder = memory / f"{name}-{count}"
        begin(folder, CHANGES)
        outcome = process.run([f"{name}:error=EIO:when={count}+"], "publish", folder, "new", grace=3600)
        if name != "write":  # it cannot be told then
            assert outcome.said.startswith("DestinationError") or which(folder, CHANGES) == "new"
        which(folder, CHANGES)
        recover(folder)
        which(folder, CHANGES)
        publish(folder, "new")
        assert which(folder, CHANGES) == "new"


def test_ours_nothing_is_listed_before_it_is_durable(process: Traced, memory: Path) -> None:
    """The order of the calls is what a loss of power leaves of them."""
    public = memory / "public"
    begin(public, CHANGES)
    lines = [line for _, _, line in process.run([], "publish", public, "new", grace=3600).calls]

    def first(pattern: str, start: int = 0) -> int:
        return next(place for place in range(start, len(lines)) if re.search(pattern, lines[place]))

    stage = rf"{public}/\.siteatlas-stage-\w+"
    shown = [number for number, line in enumerate(lines) if re.search(rf'^linkat.*"{public}/[^/"]+", 0\)', line)]
    assert len(shown) == 5
    switch = first(rf'^rename\("{stage}/new/sitemap\.\w+\.xml", "{public}/sitemap\.xml"\)')
    placed = [first(rf'^rename\(.*"{public}/sitemap-{name}\.xml"\)') for name in ("b-1", "b-2", "c-1", "c-2")]
    final = first(rf'^rename\("{stage}/new/sitemap\.xml", "{public}/sitemap\.xml"\)')
    promised = first(rf'^rename\(.*"{stage}/order"\)')
    steps = [
        (first(rf"^fsync\(\d+<{stage}/order\.draft>"), promised),
        (promised, first(rf"^fsync\(\d+<{stage}>", promised)),
        (first(rf"^fsync\(\d+<{stage}>", promised), min(shown)),
        (max(shown), first(rf"^fsync\(\d+<{public}>", max(shown))),
        (first(rf"^fsync\(\d+<{public}>", max(shown)), switch),
        (first(rf"^fsync\(\d+<{public}>", switch), min(placed)),
        (first(rf"^fsync\(\d+<{public}>", max(placed)), final),
        (first(rf"^fsync\(\d+<{public}>", final), first(rf'^unlink\("{stage}/order"\)')),
    ]
    assert all(before < after for before, after in steps)
    for name in ("b-1", "b-2", "c-1", "c-2", "c-3"):
        assert first(rf"^fsync\(\d+<{stage}/new/sitemap-{name}\.xml>") < promised
    for name in (r"sitemap\.\w+", "sitemap"):
        assert first(rf"^fsync\(\d+<{stage}/new/{name}\.xml>") < promised
