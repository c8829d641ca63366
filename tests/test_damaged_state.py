"""A state that a disk, a crash or a person has damaged: what is said, what is kept, and the way on.

pytest -m slow tests/test_damaged_state.py
"""

import json
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from run import FAST, command, crawl, environment, listed, published, siteatlas
from scripted import Answer, Route, Site, links, scripted

pytestmark = pytest.mark.thorough

PAGES = 60
PAGE_BYTES = 4096
KINDS = ("page", "pages", "zero page", "zeros", "truncated", "empty", "missing", "bytes")
SEEDS = (3, 5, 12, 31, 102, 106)


def routes() -> dict[str, Route]:
    pages: dict[str, Route] = {
        f"/p{n}": links(f"/p{n + 1}", "/", head=f"<title>Page {n}</title>") for n in range(PAGES - 1)
    }
    return {"/": links(*pages), **pages}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Path]]:
    """A site that was crawled twice, and the folder with its state and its sitemap."""
    folder = tmp_path_factory.mktemp("good")
    with scripted(routes()) as site:
        for _ in range(2):
            assert crawl(folder, site.url).code == 0
        yield site, folder


def state_of(folder: Path) -> Path:
    (path,) = (folder / ".siteatlas").glob("*/generations")
    return path.parent / "state.db"


def damage(chance: random.Random, path: Path, kind: str) -> None:
    """Damage the file as a bad disk, a bad copy or a person does."""
    raw = bytearray(path.read_bytes())
    match kind:
        case "page" | "pages" | "zero page":
            for _ in range(5 if kind == "pages" else 1):
                at = chance.randrange(len(raw) // PAGE_BYTES) * PAGE_BYTES
                raw[at : at + PAGE_BYTES] = bytes(PAGE_BYTES) if kind == "zero page" else chance.randbytes(PAGE_BYTES)
        case "zeros":
            raw = bytearray(len(raw))
        case "truncated":
            del raw[chance.randrange(len(raw)) :]
        case "empty":
            raw.clear()
        case "bytes":
            for _ in range(20):
                at = chance.randrange(len(raw) - 16)
                raw[at : at + 16] = chance.randbytes(16)
    path.write_bytes(raw)
    if kind == "missing":
        path.unlink()


def survives(seed: int, site: Site, good: Path, folder: Path) -> None:
    """Neither a trace nor wrong advice, nothing published lost, and --fresh leads on whatever the damage is."""
    chance = random.Random(seed)
    shutil.copytree(good, folder)
    path = state_of(folder)
    damage(chance, path, kind := chance.choice(KINDS))
    before, damaged = published(folder), path.read_bytes() if path.exists() else None
    ran = crawl(folder, site.url)  # fails for a trace
    context = f"seed {seed}, {kind}: {ran.err}"
    assert ran.code in (0, 1, 7), context
    assert len(published(folder)) == len(before), context
    assert len(listed(folder)) == PAGES, context
    if ran.code == 7:
        assert "--fresh" in ran.err, context
        assert "damaged" in ran.err or "missing or empty" in ran.err, context
        assert "free space" not in ran.err, context
        assert published(folder) == before, context
        again = crawl(folder, site.url, "--fresh")
        assert again.code == 0, f"{context}, then {again.err}"
        asides = list(path.parent.glob("state.db.damaged-*[Z]"))
        assert len(asides) == (damaged is not None), context
        assert len(listed(folder)) == PAGES, context
        assert crawl(folder, site.url).code == 0, context


@pytest.mark.parametrize("seed", SEEDS)
def test_ours_a_damaged_state_is_kept_aside_and_the_sitemap_stays(
    seed: int, good: tuple[Site, Path], tmp_path: Path
) -> None:
    survives(seed, *good, tmp_path / "x")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_ours_random_damage_never_loses_what_is_published(good: tuple[Site, Path], tmp_path: Path) -> None:
    for seed in range(200, 320):
        survives(seed, *good, tmp_path / "x")
        shutil.rmtree(tmp_path / "x")


def test_ours_the_published_sitemap_is_the_measure_of_the_gate_after_damage(tmp_path: Path) -> None:
    with scripted(routes()) as site:
        assert crawl(tmp_path, site.url).code == 0
        before, path = published(tmp_path), state_of(tmp_path)
        path.write_bytes(b"scribble" * 1000)
        for n in range(PAGES // 2):
            site.routes[f"/p{n}"] = Answer("gone", 404)
        ran = crawl(tmp_path, site.url, "--fresh", "--json")
        assert ran.code == 3, ran.err
        assert "published pages would leave" in ran.out
        assert published(tmp_path) == before
        assert json.loads(ran.out)["run"] > 2  # numbers of runs do not repeat
        status = siteatlas(tmp_path, "status")
        assert status.code == 0, status.err


def test_ours_a_sitemap_index_is_a_baseline_too(tmp_path: Path) -> None:
    with scripted(routes()) as site:
        assert crawl(tmp_path, site.url, "--set=output.max_urls=20", "--gzip").code == 0
        before, path = published(tmp_path), state_of(tmp_path)
        damage(random.Random(1), path, "truncated")
        ran = crawl(tmp_path, site.url, "--set=output.max_urls=20", "--gzip", "--fresh", "--json")
        assert ran.code == 0, ran.err
        counts = json.loads(ran.out)
        assert (counts["is_first"], counts["added"], counts["removed"]) == (False, 0, 0)
        assert len(published(tmp_path)) == len(before)


def killed_in(folder: Path, site: Site, path: str) -> None:
    """Kill a crawl while it waits for a path."""
    asked = site.paths.count(path)
    process = subprocess.Popen(command("crawl", site.url, "-o", "out", *FAST), cwd=folder, env=environment())
    try:
        while site.paths.count(path) == asked:
            time.sleep(0.01)
        time.sleep(0.8)  # other pages are read meanwhile, and made durable
    finally:
        process.kill()
        process.wait()


def test_ours_a_url_in_flight_at_three_crashes_comes_last(tmp_path: Path) -> None:
    poison = Answer(links(), delay=4)
    with scripted({**routes(), "/": links("/poison", *routes()), "/poison": poison}) as site:
        for _ in range(3):
            killed_in(tmp_path, site, "/poison")
            site.routes["/p50"] = Answer("x", delay=0)
        site.routes["/poison"] = "x"
        site.routes |= {f"/new{n}": "x" for n in range(20)}
        site.routes["/late"] = links(*(f"/new{n}" for n in range(20)))
        asked = len(site.log)
        ran = crawl(tmp_path, site.url, "--restart")
        assert ran.code == 0, ran.err
        # Requests that are sent at the same time may arrive in another order.
        assert "/poison" in site.paths[asked:][-int(FAST[FAST.index("-c") + 1]) :]
        assert "/poison was being fetched when Siteatlas died three times in a row" in ran.err
        assert "/poison" in ran.out
        assert len(listed(tmp_path)) == PAGES + 1
        calm = crawl(tmp_path, site.url)
        assert (calm.code, "died" in calm.err) == (0, False)


@pytest.mark.parametrize("delay", [0.0, 0.6])
@pytest.mark.parametrize("poison", ["/poison", "/"])
def test_ours_a_url_that_ends_the_process_six_times_is_given_up(tmp_path: Path, poison: str, delay: float) -> None:
    """At once, or after a commit; the start URL too. The server kills the process that asks."""
    processes: list[subprocess.Popen[bytes]] = []

    def kill(_: int) -> Answer:
        time.sleep(delay)
        processes[-1].kill()
        return Answer("x")

    with scripted({"/": links("/poison", *(f"/p{n}" for n in range(20)))}) as site:
        site.routes |= {f"/p{n}": Answer(f"<p>Page {n}") for n in range(20)} | {poison: kill}
        words, said = command("crawl", site.url, "-o", "out", *FAST), b""
        while not said and len(processes) < 9:
            processes.append(subprocess.Popen(words, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE))
            said, _ = processes[-1].communicate(timeout=60)
    assert len(processes) - 1 in (5, 6)
    assert b"Siteatlas died 5 times in a row while it fetched the URL, and gives it up" in said
    if poison == "/poison":
        assert len(listed(tmp_path)) == 21
