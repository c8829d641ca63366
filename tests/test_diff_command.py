"""The command ``siteatlas diff`` on states made by hand: which runs, in which form, and what is said when it cannot."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from run import Ran, siteatlas
from site_history import SITE, History, Seen

from crawler.config.plan import state_directory
from crawler.model import DiscoveredBy, State, Url
from crawler.state.schema import STATE_DB
from sitemap import read

HOME = Seen(found=DiscoveredBy.SEED, source=None)
SHOP = Url(f"{SITE}/sitemap.xml")


def make(root: Path, sitemap_url: Url = SHOP) -> Path:
    """A state of five runs: first, edited, unchanged, refused, edited again."""
    directory = state_directory(root, sitemap_url)
    directory.mkdir(parents=True)
    with closing(STATE_DB.open(directory / "state.db")) as db:
        db.execute("INSERT INTO about VALUES ('sitemap_url', ?)", (sitemap_url,))
        history = History(db)
        history.run({"/": HOME, "/a": Seen(lastmod="2025-01-01"), "/old": Seen(lastmod="2025-02-02")})
        second = {
            "/": HOME,
            "/a": Seen(changed=1, evidence="the price", lastmod="2026-01-02", title="Ships & boats"),
            "/old": Seen(State.REDIRECT, "301 to /new", "/new"),
            "/new": Seen(),
        }
        history.run(second)
        still = {**second, "/a": Seen(lastmod="2026-01-02", title="Ships & boats")}
        history.run(still, "unchanged")
        history.run({"/": HOME}, "refused")
        history.run({**still, "/new": Seen(State.CLIENT_ERROR, "answered 410, gone")})
    return directory


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("states")
    make(root)
    return root


def diff(root: Path, *words: str, anew: bool = False) -> Ran:
    return siteatlas(root.parent, "diff", "--state", str(root), *words, anew=anew)


def told(root: Path, *words: str, anew: bool = False) -> str:
    run = diff(root, *words, anew=anew)
    assert (run.code, run.err) == (0, "")
    return run.out


def test_ours_without_runs_the_last_two_that_published_are_compared(root: Path) -> None:
    assert told(root, anew=True) == (
        "run 3 (2026-01-03 00:00 UTC) to run 5 (2026-01-05 00:00 UTC): 1 removed\n"
        "\n"
        "removed\n"
        f"  {SITE}/new  (answered 410, gone)\n"
    )


def test_ours_between_any_two_runs(root: Path) -> None:
    assert told(root, "1", "2") == (
        "run 1 (2026-01-01 00:00 UTC) to run 2 (2026-01-02 00:00 UTC): 1 added, 1 changed, 1 moved\n"
        "\n"
        "added\n"
        f"  {SITE}/new  (found by a link, first on {SITE}/)\n"
        "\n"
        "changed\n"
        f"  {SITE}/a  2025-01-01 → 2026-01-02  (the price)\n"
        "\n"
        "moved\n"
        f"  {SITE}/old → {SITE}/new  (301 to /new)\n"
    )
    assert told(root, "2", "3").endswith("UTC): nothing changed\n")
    assert told(root, "4", "4").endswith("UTC): nothing changed\n")
    assert "1 changed, 1 moved\n" in told(root, f"{SITE}/", "1")
    assert told(root, "0", "1", "--limit", "1").startswith(
        "before the first run to run 1 (2026-01-01 00:00 UTC): 3 added\n\nadded\n"
        f"  {SITE}/  (it is the start URL)\n  … 2 more\n"
    )


def test_ours_json_is_for_machines(root: Path) -> None:
    whole = json.loads(told(root, "1", "2", "--format", "json"))
    assert (whole["from"], whole["to"]) == (1, 2)
    assert whole["counts"] == {"added": 1, "changed": 1, "removed": 0, "moved": 1, "deindexed": 0}
    lines = told(root, "1", "2", "--format", "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == whole["changes"]
    assert whole["changes"][0] == {
        "url": f"{SITE}/a",
        "kind": "changed",
        "target": "",
        "lastmod": "2026-01-02",
        "before": "2025-01-01",
        "reason": "the price",
        "run": 2,
        "at": "2026-01-02T00:00:00+00:00",
    }
    assert json.loads(told(root, "3", "3", "--format", "json"))["changes"] == []


@pytest.mark.parametrize("form", ["atom", "rss"])
def test_ours_a_feed_of_the_changes_is_one_that_readers_take(root: Path, form: str) -> None:
    entries = read(told(root, "0", "2", "--format", form).encode())
    assert [(entry.loc, entry.lastmod[:10], entry.title) for entry in entries] == [
        (f"{SITE}/new", "2026-01-02", ""),
        (f"{SITE}/a", "2026-01-02", "Ships & boats"),
        (f"{SITE}/", "2026-01-01", ""),
    ]
    assert len(read(told(root, "0", "2", "--format", form, "--limit", "1").encode())) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["9"], "this site has no run 9. The last run is run 5"),
        (["1", "9"], "this site has no run 9. The last run is run 5"),
        (["3", "2"], "run 3 comes after run 2. Give the earlier run first"),
        (["-1"], "-1"),
        (["last"], "'last' is neither a URL nor the number of a run"),
        (["1", "2", "3"], "3 runs are too many, because diff compares two runs"),
        (["https://other.example/"], "has no state of https://other.example/"),
        (["--site", "shop"], "--site shop needs a configuration"),
    ],
)
def test_ours_what_cannot_be_compared_is_said(root: Path, words: list[str], said: str) -> None:
    run = diff(root, *words)
    assert (run.code, run.out) == (2, "")
    assert said in run.err


def test_ours_which_site_is_meant_is_asked_when_there_are_several(tmp_path: Path) -> None:
    first = make(tmp_path)
    make(tmp_path, Url("https://shop.example/sitemap.xml"))
    run = diff(tmp_path)
    assert run.code == 2
    assert "has several sites" in run.err
    assert first.name in run.err
    assert told(tmp_path, f"{SITE}/", "1", "2") == told(first, "1", "2")
    config = tmp_path / "site.toml"
    config.write_text(f'[site]\nurl = "{SITE}/"\n[output]\ndirectory = "public"\n')
    assert told(tmp_path, "--config", str(config), "1", "2") == told(first, "1", "2")


def test_ours_a_site_of_a_configuration_is_meant_by_its_name(tmp_path: Path) -> None:
    first = make(tmp_path)
    config = tmp_path / "sites.toml"
    config.write_text(f'[sites.main.site]\nurl = "{SITE}/"\n[sites.shop.site]\nurl = "https://shop.example/"\n')
    assert told(tmp_path, "--config", str(config), "--site", "main", "1") == told(first, "1")
    for words, said in (
        (["--site", "shop"], "has no state of https://shop.example/"),
        (["--site", "shoe"], 'Did you mean "shop"?'),
        ([], "main, shop"),
    ):
        run = diff(tmp_path, "--config", str(config), *words)
        assert run.code == 2
        assert said in run.err


def test_ours_runs_that_are_forgotten_are_named(tmp_path: Path) -> None:
    directory = make(tmp_path)
    with closing(STATE_DB.open(directory / "state.db")) as db:
        History(db).changes.forget(5, 2)
    run = diff(tmp_path, "1")
    assert run.code == 2
    assert "the changes after run 1 are no longer stored. The oldest stored run is run 4" in run.err
    assert told(tmp_path, "3").startswith("run 3 to run 5 (2026-01-05 00:00 UTC): 1 removed")
    run = diff(tmp_path / "nowhere")
    assert run.code == 2
    assert "contains no state" in run.err
