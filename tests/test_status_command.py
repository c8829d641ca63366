"""``siteatlas status`` of many sites, of a schedule, and on terminals of any width."""

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from kept import status, write
from run import siteatlas

from crawler.attempt import Attempt, Because, Fate
from crawler.cli.columns import Column, table, wrapped
from crawler.cli.status_looking import trend
from crawler.history import History
from crawler.memory.runs import PublishedFile, Run, Runs
from crawler.standing import Start
from crawler.state import schema
from crawler.store import directory_for

START = 1_790_000_000.0


def run(number: int, seconds: float = 60.0, outcome: str = "published", **more: object) -> Run:
    begun = START + number * 3600
    ended = begun + seconds if outcome else None
    return Run(
        number=number,
        started=begun,
        version="1",
        ended=ended,
        seconds=seconds,
        outcome=outcome,
        **{"listed": 1200 + number, "fetched": 1000, "completeness": "complete", "exit_code": 0, **more},  # type: ignore[arg-type]
    )


def state(folder: Path, name: str, runs: Sequence[Run]) -> None:
    """A state as these runs would have left it."""
    url = f"http://{name}.example/"
    directory = directory_for(folder / "state", f"{url}sitemap.xml")
    directory.mkdir(parents=True)
    with closing(schema.connect(directory / schema.FILE)) as db:
        for each in runs:
            Runs(db).write(each)
        db.execute("INSERT INTO about VALUES ('url', ?)", (url,))


def attempt(history: History, site: str, fate: Fate, told: str = "", *, retry: bool = False) -> None:
    because = Because.RETRY if retry else Because.DUE
    begun = history.begin(Start(site=site, slot=START, because=because, turn=1 + retry), START)
    whole = {name: getattr(begun, name) for name in Attempt.__struct_fields__}
    history.end(Attempt(**{**whole, "ended": START + 60, "fate": fate, "exit_code": 5, "told": told}))


def test_ours_a_trend_compares_the_last_run_with_the_median_of_those_before() -> None:
    before = [run(number, seconds) for number, seconds in enumerate((900, 50, 70, 60), 1)]
    found = trend([run(6, 250, listed=1190), run(5, 0, "refused"), *before[::-1]])
    assert found is not None
    assert (found.seconds, found.usual_seconds, found.runs) == (250, 65, 4)
    assert (found.listed, found.usual_listed, found.usual_fetched) == (1190, 1202, 1000)
    assert trend([run(3), run(2), run(1)]) is None
    assert trend([]) is None


def test_ours_many_sites_are_told_of_in_a_line_each(tmp_path: Path) -> None:
    names = [f"site-with-a-long-name-{n}" for n in range(5)]
    write(tmp_path, **{name: f"http://{name}.example/" for name in names})
    state(tmp_path, names[0], [run(1), run(2, files=[PublishedFile("sitemap.xml", "u", 1, 1)])])
    state(tmp_path, names[1], [run(1), run(2, 0, "refused", refusal="the start URL failed", exit_code=3)])
    state(tmp_path, names[2], [run(1, outcome="")])
    with History(tmp_path / "state") as history:
        attempt(history, names[3], Fate.FAILED, "its process was ended by SIGKILL")
        attempt(history, names[3], Fate.FAILED, "its process was ended by SIGKILL", retry=True)
    ran = siteatlas(tmp_path, "status", "--config", "sites.toml", COLUMNS="80")
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 80
    head, *rows = lines[:6]
    assert head.split() == ["site", "pages", "last", "run", "verdict", "took", "next", "run"]
    verdicts = ("published", "refused", "cut short", "failed x2", "not run yet")
    for name, verdict, row in zip(names, verdicts, rows, strict=True):
        assert row.startswith(name)
        assert f" {verdict} " in row
    assert f"{names[1]}: the start URL failed" in lines
    assert f"{names[3]}: 2 runs in a row failed, on " in ran.out
    assert "siteatlas schedule is not running" in ran.out
    assert lines[-1] == "5 sites; --site NAME shows one of them in full"
    narrow = siteatlas(tmp_path, "status", "--config", "sites.toml", COLUMNS="40").out.splitlines()
    assert max(map(len, narrow[:6])) <= 40
    assert (
        f"== {names[0]} ==" in siteatlas(tmp_path, "status", "--config", "sites.toml", "--site", names[0]).out
    )


def test_ours_one_site_is_told_of_in_full_and_fits_the_terminal(tmp_path: Path) -> None:
    write(tmp_path, 'cron = "30 3 * * *"\ntimezone = "Europe/Berlin"', shop="http://shop.example/")
    because = "611 URLs failed: 611 server error, " + "and a long tale of each of them " * 5
    state(tmp_path, "shop", [*(run(n, 230) for n in range(1, 6)), run(6, 250, because=because)])
    ran = siteatlas(tmp_path, "status", "--config", "sites.toml", COLUMNS="80")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "schedule: 30 3 * * * Europe/Berlin; next run " in ran.out
    assert "the last run took 4:10, usually 3:50" in ran.out
    assert "run  started           took  crawl     outcome" in ran.out
    (site,) = status(tmp_path)["sites"]
    assert (site["trend"]["seconds"], site["trend"]["usual_seconds"]) == (250, 230)
    assert site["schedule"]["timetable"] == "30 3 * * * Europe/Berlin"
    assert (site["schedule"]["attempts"], site["channels"]) == ([], [])
    assert [each["number"] for each in site["runs"]] == [6, 5, 4, 3, 2]


def test_ours_without_a_schedule_there_is_no_word_of_one(tmp_path: Path) -> None:
    write(tmp_path, "", shop="http://shop.example/")
    state(tmp_path, "shop", [run(1)])
    for words in (("--config", "sites.toml"), ("--state", "state")):
        assert "schedule" not in siteatlas(tmp_path, "status", *words).out
        assert json.loads(siteatlas(tmp_path, "status", *words, "--json").out)["schedule"] is None
    (tmp_path / "state" / "schedule.db").write_bytes(b"no database " * 200)
    ran = siteatlas(tmp_path, "status", "--config", "sites.toml")
    assert (ran.code, "== shop ==" in ran.out) == (0, True)
    assert "the schedule cannot be told of: " in ran.out


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (200, "  a name of 20 letters  1   22  3333"),
        (36, "  a name of 20 letters  1   22  3333"),
        (35, "  a name of 20 letters  1  3333"),
        (28, "  a name of 20 letters  3333"),
        (25, "  a name of 20 let…  3333"),
        (5, "  a name …  3333"),
    ],
)
def test_ours_a_table_leaves_out_what_is_missed_least_and_then_shortens(width: int, shown: str) -> None:
    columns = (Column("name", is_text=True, shrinks=True), Column("a", 2), Column("bee", 1), Column("c"))
    rows = [("a name of 20 letters", "1", "22", "3333"), ("short", "", "", "")]
    assert list(table(columns, rows, width))[1] == shown


def test_ours_a_sentence_is_wrapped_and_a_url_stays_whole() -> None:
    url = "https://www.example.com/" + "a" * 60
    told = list(wrapped(f"it was {url} and more, with-a-hyphen", 50, "  ", "  "))
    assert told == ["  it was", f"    {url}", "    and more, with-a-hyphen"]
    assert list(wrapped("short", 50)) == ["  short"]
