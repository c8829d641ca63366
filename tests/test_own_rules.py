"""Rules of one's own: findings like any other, and one clear line before the crawl for a rule that cannot work."""

import csv
import json
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from audited import FAST, Command, in_process, page, pages
from scripted import Site, scripted

from crawler.dataset.build import open_dataset

THIN = "SELECT url, inlinks, depth FROM pages WHERE indexable AND inlinks = 1"
LINKS = "SELECT target AS url, source, anchor FROM links WHERE kind = 'link'"


@pytest.fixture
def siteatlas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    with in_process(tmp_path, monkeypatch, capsys) as command:
        yield command


def configure(site: Site, sql: str = THIN, more: str = "") -> None:
    Path("site.toml").write_text(
        f'site.url = "{site.url}"\nstate.directory = "state"\naudit.report = "out"\nrender.mode = "never"\n'
        f"[audit.rules.lonely]\nsql = {json.dumps(sql)}\n{more}"
    )


def told() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(Path("out/audit.json").read_bytes())
    return read


def own(of: str = "own.lonely") -> dict[str, dict[str, Any]]:
    return {"/" + each["url"].split("/", 3)[-1]: each for each in told()["findings"] if each["rule"] == of}


def test_ours_a_rule_of_ones_own_has_findings_like_any_other(siteatlas: Command) -> None:
    text = 'severity = "error"\ntext = "Only one page links to the page."\n'
    with scripted(pages()) as site:
        configure(site, more=text)
        first = siteatlas("audit", "--config", "site.toml", "--fail-on", "own.lonely", *FAST)
        assert set(own()) == {"/hub/", "/hub/two"}
        (finding,) = [each for path, each in own().items() if path == "/hub/two"]
        assert finding["evidence"] == ["inlinks: 1, depth: 2"]
        assert (finding["severity"], finding["sentence"], finding["state"]) == (
            "error",
            "Only one page links to the page.",
            "indexable",
        )
        site.routes["/hub/one"] = page("/", "/plain", "/hub/two", "/hub/new")
        site.routes["/hub/new"] = page("/")
        second = siteatlas("audit", "--config", "site.toml", "--fail-on", "new:own.lonely", *FAST, "--fresh-crawl")
    assert (first.code, second.code) == (10, 10), second
    assert "Rules of your own" in first.out
    assert set(own()) == {"/hub/", "/hub/new"}
    trend = next(each for each in told()["compared"]["trends"] if each["rule"] == "own.lonely")
    assert (trend["new"], trend["still"], trend["mended"] + trend["undecided"]) == (1, 1, 1)
    sarif = json.loads(Path("out/audit.sarif").read_bytes())["runs"][0]
    assert "own.lonely" in {rule["id"] for rule in sarif["tool"]["driver"]["rules"]}
    assert "own.lonely" in Path("out/audit.junit.xml").read_text()
    assert "own.lonely" in Path("out/audit.html").read_text()
    with Path("out/csv/own.lonely.csv").open(newline="", encoding="utf-8-sig") as file:
        assert [row["URL"] for row in csv.DictReader(file)] == [f"{site.url}hub/new", f"{site.url}hub/"]
    (state,) = (each for each in Path("state").iterdir() if each.is_dir())
    with closing(open_dataset(state)) as db:
        assert db.execute("SELECT severity FROM findings WHERE rule = 'own.lonely'").fetchall() == [("error",)] * 2


def test_ours_rows_of_one_url_are_one_finding_which_may_be_accepted_and_a_changed_rule_compares_nothing(
    siteatlas: Command,
) -> None:
    with scripted(pages()) as site:
        Path("ok.toml").write_text(
            '[[accepted]]\nurl = "/hub/*"\nrule = "own.lonely"\nreason = "fine"\nuntil = 2099-01-01\n'
        )
        configure(site, LINKS, 'severity = "note"\n')
        siteatlas("audit", "--config", "site.toml", *FAST, "--accepted", "ok.toml")
        first = own()
        configure(site, THIN)
        siteatlas("audit", "--config", "site.toml", *FAST)
    assert set(first) == {"/", "/plain"}
    assert len(first["/"]["evidence"]) == 5
    assert all(each.startswith("source: http") for each in first["/"]["evidence"])
    assert set(own()) == {"/hub/", "/hub/two"}
    assert "it was the query" in told()["compared"]["uncompared"]["own.lonely"]
    configure(site, THIN, "")
    Path("site.toml").write_text(Path("site.toml").read_text().partition("[audit.rules")[0])
    with scripted(pages()) as site:
        siteatlas("audit", site.url, "--state", "other", "-o", "out", *FAST)
    assert not list(Path("out/csv").glob("own.*")), "the table of a rule that went stays"


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT colour FROM pages", "audit.rules.lonely.sql: the query is not valid: no such column: colour"),
        ("SELECT title FROM pages", "audit.rules.lonely.sql: the query returns no column url, only title"),
        ("DELETE FROM pages", "audit.rules.lonely.sql: a query can only read"),
        ("", "audit.rules.lonely needs either sql or plugin"),
    ],
)
def test_ours_a_rule_that_cannot_work_is_one_line_before_the_crawl(siteatlas: Command, sql: str, said: str) -> None:
    with scripted(pages()) as site:
        configure(site, sql)
        ended = siteatlas("audit", "--config", "site.toml", *FAST)
        assert not site.log
    assert ended.code == 2
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[audit.rules.lonely]\nsqll = 1", 'the key "audit.rules.lonely.sqll" (site.toml, line 4) is unknown. Did you'),
        ('[audit.rules."a b"]\nsql = "x"', 'the name "a b" may contain only letters'),
        ("[audit.rules]\nlonely = 1", "audit.rules.lonely (site.toml, line 4): it must be a table"),
        ('[audit.rules.lonely]\nseverity = "bad"', "it must be 'error', 'warning' or 'note'"),
    ],
)
def test_ours_a_bad_table_of_a_rule_names_its_key_and_line(siteatlas: Command, table: str, said: str) -> None:
    Path("site.toml").write_text(f'[site]\nurl = "http://127.0.0.1:2/"\n{table}\n')
    assert tomllib.loads(Path("site.toml").read_text())
    ended = siteatlas("audit", "--config", "site.toml")
    assert ended.code == 2
    assert said in ended.err


def test_ours_a_rule_that_takes_too_long_is_not_checked_and_the_report_says_so(
    siteatlas: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawler.dataset.rules._SECONDS", 0.2)
    monkeypatch.setattr("crawler.dataset.rules._check", lambda *_: None)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) AS url FROM n"
    with scripted(pages()) as site:
        configure(site, endless)
        ended = siteatlas("audit", "--config", "site.toml", "--fail-on", "own", *FAST)
    assert ended.code == 1, ended
    why = "audit.rules.lonely was not checked: the query took longer than 0.2 seconds. Narrow the query"
    assert ended.code == 1
    assert told()["unchecked"]["own.lonely"] == why
    assert "orphan.sitemap" in {each["rule"] for each in told()["findings"]}


def test_ours_a_rule_that_went_takes_its_findings_along(siteatlas: Command) -> None:
    with scripted(pages()) as site:
        configure(site)
        assert siteatlas("audit", "--config", "site.toml", *FAST).code == 0
        assert own()
        configure(site)
        file = Path("site.toml")
        file.write_text(file.read_text().partition("[audit.rules")[0])
        for _ in range(2):
            ran = siteatlas("audit", "--config", "site.toml", *FAST)
            assert (ran.code, ran.err) == (0, "")
        assert not own()
        assert not told()["mended"]  # nobody looked for them
