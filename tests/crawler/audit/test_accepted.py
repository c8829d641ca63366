"""Accepted findings and trends: what an entry accepts, what the reports say of it, and of findings over many audits."""

import csv
import json
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from audited import CLOSED, FAST, Command, in_process, log, page, pages
from scripted import Answer, scripted
from selectolax.lexbor import LexborHTMLParser
from steps import steps

from crawler.audit.accepted import Acceptance, Acceptances, read_acceptances
from crawler.errors import UsageError

TODAY = date(2026, 11, 23)
SITE = "https://www.example.com/"


def entry(url: str, rule: str = "gone.linked", until: date = TODAY) -> Acceptance:
    return Acceptance(url=url, rule=rule, reason="archived", until=until)


@pytest.mark.parametrize(
    ("entries", "accepted"),
    [
        ([entry("/old/*")], {1: 0, 2: 0}),
        ([entry(f"{SITE}old/b")], {2: 0}),
        ([entry(f"{SITE}a?b=1")], {3: 0}),
        ([entry("re:/old/[ab]$", "dead-urls")], {1: 0, 2: 0}),
        ([entry("/old/b"), entry("/old/*")], {1: 1, 2: 0}),
        ([entry("*", "orphan"), entry("*", "lint")], {4: 0, 5: 1}),
        ([entry("/old/*", until=TODAY - timedelta(1))], {}),
        ([entry("/old/*", until=TODAY - timedelta(1)), entry("/old/a")], {1: 1}),
        ([entry("/OLD/*")], {}),
    ],
)
def test_ours_the_first_entry_that_fits_accepts_a_finding(entries: list[Acceptance], accepted: dict[int, int]) -> None:
    findings = [
        (1, "gone.linked", f"{SITE}old/a"),
        (2, "gone.linked", f"{SITE}old/b"),
        (3, "gone.linked", f"{SITE}a?b=1"),
        (4, "orphan.log", f"{SITE}old/a"),
        (5, "duplicate.loc", f"{SITE}sitemap.xml"),
        (6, "duplicate.loc", "sitemap.xml"),
    ]
    assert dict(Acceptances(entries).find(findings, TODAY)) == accepted


@pytest.mark.thorough
def test_ours_twice_as_many_accepted_urls_take_twice_the_work() -> None:
    def work(count: int) -> int:
        urls = [f"{SITE}page-{number}" for number in range(count)]
        acceptances = Acceptances([entry(url) for url in urls])
        findings = [(number, "gone.linked", url) for number, url in enumerate(urls)]
        accepted: dict[int, int] = {}
        spent = steps(lambda: accepted.update(acceptances.find(findings, TODAY)))
        assert accepted == dict(zip(range(count), range(count), strict=True))
        return spent

    assert work(4_000) < 2.4 * work(2_000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[accepted", "not valid TOML"),
        ("[[accepts]]\n", "unknown field `accepts`"),
        ('[[accepted]]\nurl = "/a"\nrule = "gone.linked"\nuntil = 2027-01-01\n', "`reason`"),
        ('[[accepted]]\nurl = "/a"\nrule = "gone.linked"\nreason = "x"\n', "`until`"),
        ('[[accepted]]\nurl = "/a"\nrule = "gone.linked"\nreason = "x"\nuntil = "soon"\n', "until"),
        ('[[accepted]]\nurl = "/a"\nrule = "gone.linked"\nreason = " "\nuntil = 2027-01-01\n', "entry 1 has no reason"),
        ('[[accepted]]\nurl = "a"\nrule = "gone.linked"\nreason = "x"\nuntil = 2027-01-01\n', 'Write "*a*"'),
        ('[[accepted]]\nurl = "/a"\nrule = "gone.lnked"\nreason = "x"\nuntil = 2027-01-01\n', '"gone.linked"?'),
        ('[[accepted]]\nurl = "/a"\nrule = "never"\nreason = "x"\nuntil = 2027-01-01\n', "--rules"),
    ],
)
def test_ours_a_bad_file_is_one_line_that_names_the_entry(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "accepted.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        read_acceptances(str(file))
    assert said in str(error.value)
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    with in_process(tmp_path, monkeypatch, capsys) as command:
        yield lambda *words: command("audit", *words, *FAST, "-o", "out")


def write(*entries: tuple[str, str, date]) -> None:
    """The file of accepted findings: URL, rule and last day of each entry."""
    tables = (
        f'[[accepted]]\nurl = "{url}"\nrule = "{rule}"\nreason = "they \\"know\\""\nuntil = {until}\n'
        for url, rule, until in entries
    )
    Path("accepted.toml").write_text("\n".join(tables))


def report() -> dict[str, Any]:
    told: dict[str, Any] = json.loads(Path("out", "audit.json").read_bytes())
    return told


def rules(told: dict[str, Any], key: str = "findings") -> list[tuple[str, str]]:
    return [(each["rule"], "/" + each["url"].split("/", 3)[-1]) for each in told[key]]


@pytest.mark.thorough
def test_ours_accepted_findings_are_told_apart_and_are_never_new(audit: Command) -> None:
    later = time.gmtime(time.time() + 90 * 86_400)
    until = date(*later[:3])
    flags = ("--accepted", "accepted.toml", "--fail-on", "new:dead")
    routes = pages(**{"plain": page("/", "/dead/a"), "dead/a": Answer("", 404)})
    with scripted(routes) as site:
        write()
        audit(site.url, "--accepted", "accepted.toml")
        before = rules(report())
        assert ("gone.linked", "/dead/a") in before
        # a new dead link is accepted, and so is one that the last audit had
        site.routes["/hub/one"] = page("/", "/plain", "/dead/b")
        site.routes["/dead/b"] = Answer("", 404)
        write(("/dead/*", "gone", until), ("/nothing", "entry.gone", until))
        ran = audit(site.url, *flags)
        told = report()
        assert ran.code == 0, ran.err
        assert not [rule for rule, _ in rules(told) if rule == "gone.linked"]
        assert sorted(rules(told, "accepted_findings")) == [("gone.linked", "/dead/a"), ("gone.linked", "/dead/b")]
        assert [each["entry"] for each in told["accepted_findings"]] == [0, 0]
        first = told["accepted"][0]
        assert (first["url"], first["findings"], first["until"]) == ("/dead/*", 2, until.isoformat())
        assert not [each for each in told["counts"] if each["rule"] == "gone.linked"]
        assert not [each for each in told["mended"] if each["rule"] == "gone.linked"], "accepted is not resolved"
        assert "2 findings are accepted, and not counted" in told["notes"]
        assert "the acceptance of entry.gone for /nothing matches no finding: remove it" in told["notes"]
        assert f'2  gone  /dead/*  until {until}: they "know"' in ran.out
        assert "/dead/b" not in ran.out
        tree = LexborHTMLParser(Path("out", "audit.html").read_bytes())
        section = tree.css_first("#accepted")
        assert section is not None
        said = f'2 · gone · /dead/* they "know", until {until}'
        assert " ".join(section.text().split()) == f"Accepted, and not counted {said}"
        with Path("out", "csv", "accepted.csv").open(encoding="utf-8-sig", newline="") as table:
            kept = [
                (row["URL"].split("/", 3)[3], row["Reason"], row["Accepted until"]) for row in csv.DictReader(table)
            ]
        assert sorted(kept) == [(path, 'they "know"', until.isoformat()) for path in ("dead/a", "dead/b")]
        assert "/dead/b" in audit(site.url, *flags, "-v").out
        # when an entry expires, its findings are back, and none of them is new
        write(("/dead/*", "gone", date(2026, 1, 31)))
        ran = audit(site.url, *flags)
        told = report()
        assert ran.code == 0, ran.err
        back = {
            each["url"].rpartition("/")[2]: each["is_new"] for each in told["findings"] if each["rule"] == "gone.linked"
        }
        assert back == {"a": False, "b": False}
        expired = "the acceptance of gone for /dead/* expired on 2026-01-31: resolve its findings, or set a later date"
        assert expired in told["notes"]
        assert not Path("out", "csv", "accepted.csv").exists()
        assert audit(site.url, "--accepted", "accepted.toml", "--fail-on", "dead").code == 10


@pytest.mark.thorough
def test_ours_findings_by_class_are_kept_over_many_audits(audit: Command) -> None:
    with scripted(pages(**{"plain": page("/", "/dead/a", "/dead/b"), "dead/a": Answer("", 404)})) as site:
        Path("access.log").write_text(log("/asked"))
        audit(site.url, "--log", "access.log")
        site.routes["/dead/b"] = page("/")
        site.routes["/hub/two"] = page("/")
        for number in (2, 3, 4):
            ran = audit(site.url)
            history = report()["history"]
            assert [point["number"] for point in history] == list(range(1, number + 1))
            assert ("Findings of the last" in ran.out) == (number > 2)
        assert [point["rules"].get("gone.linked") for point in history] == [2, 1, 1, 1]
        assert history[0]["rules"]["orphan.log"] == 1
        assert "orphan.log" not in history[0]["unchecked"]
        assert "orphan.log" in history[1]["unchecked"]
        assert history[-1]["severities"]["warning"] == sum(
            each["certain"] + each["inconclusive"] for each in report()["counts"] if each["severity"] == "warning"
        )
        numbers = {line.split()[-1]: line.split()[:-1] for line in ran.out.splitlines() if line.startswith("     ")}
        assert numbers["gone.linked"] == ["2", "1", "1", "1"]
        assert numbers["orphan.log"] == ["1", "-", "-", "-"]


def test_ours_an_entry_is_not_called_unused_where_its_rule_was_not_checked(audit: Command) -> None:
    until = date(*time.gmtime(time.time() + 86_400)[:3])
    with scripted(pages()) as site:
        write(("*", "orphan.log", until), ("/x", "reach.deep", until))
        audit(site.url, "--accepted", "accepted.toml")
        notes = [note for note in report()["notes"] if "acceptance" in note]
        assert notes == ["the acceptance of reach.deep for /x matches no finding: remove it"]


def test_ours_the_file_is_read_before_the_first_request(audit: Command) -> None:
    ran = audit(CLOSED, "--accepted", "missing.toml")
    assert ran.code == 2
    assert "the file of accepted findings missing.toml cannot be read: No such file or directory" in ran.err
    assert len(ran.err.splitlines()) == 1
