"""The memory of the audit before: which findings are known again, what is kept, and what a kill leaves of it."""

import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from crawler.audit.compare.finding_status import CurrentState, FindingStatus, PreviousFinding, RuleCoverage
from crawler.audit.compare.history import AUDIT_HISTORY_DB, StoredFinding, finished_audits, stored_findings
from crawler.audit.compare.store import AuditHistory
from crawler.audit.evidence.store import AUDIT_FILE, FindingStore, create_audit_file
from crawler.audit.finding import AuditFinding, RuleTrend
from crawler.audit.summary import AuditSummary
from crawler.state.schema import STATE_DB

SITE = "https://www.example.com/"
FILE = f"{SITE}sitemap.xml"
RULES = ("entry.gone", "orphan.log", "lastmod.invalid", "location.outside", "cluster.target")


def gone(name: str, file: str = FILE, **fields: object) -> AuditFinding:
    return replace(AuditFinding(rule="entry.gone", url=f"{SITE}{name}", sentence="404", file=file, line=3), **fields)


def lint(line: int, times: int = 1) -> AuditFinding:
    sentence = f"line {line}: no date" if times == 1 else f"and {times} more like these"
    return AuditFinding(rule="lastmod.invalid", url=FILE, sentence=sentence, file=FILE, line=line, times=times)


@dataclass
class Audits:
    """Audits after one another in a directory; each is given its findings, and the rules that can be compared."""

    directory: Path
    keep: int = 365
    number: int = 0
    new: list[str] = field(default_factory=list)
    since: dict[str, str] = field(default_factory=dict)
    mended: list[tuple[str, str]] = field(default_factory=list)
    trends: list[RuleTrend] = field(default_factory=list)

    def __call__(
        self,
        *found: AuditFinding,
        comparable: Sequence[str] = RULES,
        fate: FindingStatus = FindingStatus.RESOLVED,
        is_kept: bool = True,
    ) -> None:
        self.number += 1
        with self.past(found) as (db, past):
            past.compare(f"2026-11-{self.number:02}", comparable)
            if past.last_audit():
                past.resolve_missing(lambda _before, _today: (fate, "now", ""))
            told = FindingStore(db)
            every = [each for rule in RULES for each in told(rule)]
            self.new = [name(each) for each in every if each.is_new]
            self.since = {name(each): each.since for each in every}
            self.mended = [(name(each), each.since) for rule in RULES for each in told.resolved(rule)]
            self.trends = past.trends()
            if is_kept:
                past.store(news(self.number), {}, {}, self.keep, anew=False)

    @contextmanager
    def past(self, found: Iterable[AuditFinding]) -> Iterator[tuple[sqlite3.Connection, AuditHistory]]:
        STATE_DB.open(self.directory / STATE_DB.file).close()
        with closing(create_audit_file(self.directory / AUDIT_FILE, self.directory / STATE_DB.file)) as db:
            FindingStore(db).put((0.0, each) for each in found)
            yield db, AuditHistory(db, self.directory)

    def trend(self, rule: str) -> tuple[int, int, int, int]:
        each = next(each for each in self.trends if each.rule == rule)
        return each.new, each.still, each.mended, each.undecided


def name(each: object) -> str:
    return str(getattr(each, "url", "")).removeprefix(SITE)


def news(number: int) -> AuditSummary:
    return AuditSummary(
        number=number, started=number, before=None, verdict="conclusive", why="", pages=0, uncompared=0,
        severities={}, groups=[], first=[],
    )  # fmt: skip


@pytest.fixture
def audits(tmp_path: Path) -> Audits:
    return Audits(tmp_path)


def test_ours_a_finding_has_the_day_of_the_first_audit_in_an_unbroken_row(audits: Audits) -> None:
    audits(gone("a"), gone("b"))
    audits(gone("a"), gone("c"))
    assert (audits.new, audits.mended) == (["c"], [("b", "2026-11-01")])
    audits(gone("a"), gone("b"), gone("c"))
    assert audits.new == ["b"]
    assert audits.since == {"a": "2026-11-01", "b": "2026-11-03", "c": "2026-11-02"}


def test_ours_what_was_not_kept_is_compared_with_by_nobody(audits: Audits) -> None:
    audits(gone("a"))
    audits(gone("b"), is_kept=False)
    audits(gone("b"))
    assert (audits.new, audits.mended) == (["b"], [("a", "2026-11-01")])


def test_ours_lines_files_and_spellings_may_change(audits: Audits) -> None:
    audits(gone("a"), gone("b"), gone("c/", file=f"{SITE}2.xml"), gone("two"), gone("two", file=f"{SITE}2.xml"))
    audits(
        gone("a", line=99),
        gone("b", file=f"{SITE}2.xml"),
        gone("C", file=f"{SITE}2.xml"),
        gone("two", file=f"{SITE}2.xml"),
    )
    assert not audits.new
    assert audits.trend("entry.gone") == (0, 4, 1, 0)
    assert audits.mended == [("two", "2026-11-01")]


def test_ours_the_same_url_in_another_file_comes_before_another_spelling(audits: Audits) -> None:
    audits(gone("a"), gone("A", file=f"{SITE}2.xml"))
    audits(gone("a", file=f"{SITE}1.xml"))
    assert audits.mended == [("A", "2026-11-01")]


def test_ours_what_cannot_be_decided_keeps_its_day_until_it_can(audits: Audits) -> None:
    audits(gone("a"), gone("b"))
    audits(gone("b"), fate=FindingStatus.INCONCLUSIVE)
    assert (audits.mended, audits.trend("entry.gone")) == ([], (0, 1, 0, 1))
    audits(gone("a"), gone("b"), comparable=())
    assert (audits.new, audits.since["a"]) == ([], "2026-11-01")
    audits(gone("b"), fate=FindingStatus.INCONCLUSIVE)
    audits(gone("b"))
    assert audits.mended == [("a", "2026-11-01")]
    audits(gone("b"))
    assert audits.mended == []


def test_ours_what_was_inconclusive_is_new_when_it_is_certain_and_was_never_mended(audits: Audits) -> None:
    audits()
    audits(gone("a", is_certain=False), gone("b", is_certain=False), gone("c"))
    assert audits.new == ["c"]
    audits(gone("a"), gone("c", is_certain=False))
    assert (audits.new, audits.mended) == (["a"], [])
    assert audits.since["a"] == "2026-11-02"
    audits(gone("a"), gone("c"))
    assert audits.new == []  # c was conclusive before it was not


def test_ours_of_a_rule_that_could_not_be_compared_nothing_is_new(audits: Audits) -> None:
    audits()
    audits(gone("a"), AuditFinding(rule="orphan.log", url=f"{SITE}o", sentence=""), comparable=("entry.gone",))
    assert audits.new == ["a"]


def test_ours_of_what_is_told_by_its_number_the_growth_is_new(audits: Audits) -> None:
    told = [lint(line) for line in range(1, 4)]
    audits(*told)
    audits(*(lint(line + 50) for line in range(1, 4)), lint(0, times=4))  # each of those told stands for any
    assert audits.trend("lastmod.invalid") == (4, 3, 0, 0)
    audits(*told, lint(0, times=10))
    assert audits.trend("lastmod.invalid") == (6, 7, 0, 0)
    audits(*told, lint(0, times=10))
    assert audits.trend("lastmod.invalid") == (0, 13, 0, 0)
    audits(*told)
    assert audits.trend("lastmod.invalid") == (0, 3, 10, 0)
    another = replace(lint(9), sentence="another is no date")
    audits(another, *told[1:], lint(0, times=1 + 1))  # one more at the top, and so the last two are not named
    assert audits.trend("lastmod.invalid") == (2, 3, 0, 0)


def test_ours_which_of_too_many_to_tell_are_new_is_not_guessed(audits: Audits) -> None:
    def said(word: str) -> AuditFinding:
        return replace(lint(1), sentence=f"{word} is no date")

    audits(said("a"), said("b"), lint(0, times=5))
    audits(said("b"), said("c"), lint(0, times=5))
    assert audits.trend("lastmod.invalid") == (0, 6, 0, 0)
    assert audits.new == audits.mended == []


def test_ours_a_fault_of_a_file_is_one_whatever_its_entries(audits: Audits) -> None:
    fault = AuditFinding(rule="location.outside", url=f"{SITE}a", sentence="", file=FILE, line=3)
    audits(fault)
    audits(replace(fault, url=f"{SITE}b", line=9, times=3))
    assert audits.trend("location.outside") == (2, 1, 0, 0)


def test_ours_the_policy_is_told_what_is_known_of_the_url(audits: Audits) -> None:
    audits(gone("a", state="client error"))
    asked: list[tuple[PreviousFinding, CurrentState]] = []
    other = AuditFinding(rule="orphan.log", url=f"{SITE}a", sentence="")
    with audits.past([other]) as (db, past):
        db.execute("INSERT INTO entry VALUES (1, 1, ?, '', ?, 1, '', x'', '', NULL)", (f"{SITE}a", FILE))
        past.compare("2026-11-02", RULES)
        past.resolve_missing(lambda before, today: (asked.append((before, today)) or FindingStatus.RESOLVED, "", ""))  # type: ignore[func-returns-value]
    ((before, today),) = asked
    assert before == PreviousFinding("entry.gone", f"{SITE}a", FILE, "client error", "2026-11-01")
    assert today == CurrentState(rules=("orphan.log",), is_listed=True)


def test_ours_the_last_audits_are_remembered_as_a_whole_and_no_more(tmp_path: Path) -> None:
    audits = Audits(tmp_path, keep=3)
    audits(gone("a"), gone("b"))
    for _ in range(5):
        audits(gone("a"), fate=FindingStatus.INCONCLUSIVE)
    assert [each.number for each in finished_audits(tmp_path)] == [4, 5, 6]
    assert stored_findings(tmp_path, f"{SITE}a")
    assert not stored_findings(tmp_path, f"{SITE}b")  # it was not seen for as long


def test_ours_a_state_that_was_begun_anew_counts_its_audits_anew_and_is_compared_all_the_same(audits: Audits) -> None:
    audits(gone("a"), gone("b"))
    audits(gone("b"), fate=FindingStatus.INCONCLUSIVE)
    audits.number = 0
    audits(gone("b"), gone("c"), fate=FindingStatus.INCONCLUSIVE)
    assert [each.number for each in finished_audits(audits.directory)] == [1]
    assert (audits.new, audits.trend("entry.gone")) == (["c"], (1, 1, 0, 1))
    assert stored_findings(audits.directory, f"{SITE}a") == [StoredFinding("entry.gone", "2026-11-01", True, True)]
    assert stored_findings(audits.directory, f"{SITE}b") == [StoredFinding("entry.gone", "2026-11-01", True, False)]


def test_ours_who_looks_while_an_audit_is_kept_sees_the_one_before_and_nobody_else_may(audits: Audits) -> None:
    audits(gone("a"))
    with audits.past([gone("b")]) as (db, past):
        past.compare("2026-11-02", RULES)
        seen = []

        def look(statement: str) -> None:
            if statement.startswith("DELETE FROM past.audit"):
                modes = {oct(each.stat().st_mode) for each in audits.directory.glob(f"{AUDIT_HISTORY_DB.file}*")}
                seen.append(([each.number for each in finished_audits(audits.directory)], modes))

        db.set_trace_callback(look)
        past.store(news(2), {}, {}, 365, anew=False)
    assert seen == [([1], {"0o100600"})]
    assert [each.number for each in finished_audits(audits.directory)] == [1, 2]


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = sys.argv[1:]
from test_audit_history import Audits, gone, news
audits = Audits(Path.cwd(), number=1)
found = [gone(str(n)) for n in range(2_000)]
with audits.past(found) as (db, past):
    past.compare("2026-11-02", ["entry.gone"])
    def said(statement):
        if statement.lstrip().startswith("DELETE FROM past.audit"):  # nearly all is done
            os.kill(os.getpid(), signal.SIGKILL)
    db.set_trace_callback(said)
    past.store(news(2), {}, {}, 365, anew=False)
"""


def test_ours_kill_9_while_it_is_written_leaves_the_memory_as_it_was(audits: Audits) -> None:
    audits(gone("a"), gone("b"))
    here = [str(Path(__file__).parent), str(Path.cwd())]
    command = [sys.executable, "-c", KILLED, *here]
    run = subprocess.run(command, cwd=audits.directory, capture_output=True, text=True, check=False)
    assert run.returncode == -signal.SIGKILL, run.stdout + run.stderr
    assert [each.number for each in finished_audits(audits.directory)] == [1]
    audits.number = 1
    audits(gone("a"))
    assert (audits.new, audits.mended) == ([], [("b", "2026-11-01")])


@pytest.mark.slow
def test_ours_300_000_findings_are_compared_in_flat_memory(audits: Audits) -> None:
    audits(*(gone(str(n)) for n in range(10)))

    def many(first: int) -> Iterator[AuditFinding]:
        return (gone(str(n), file=f"{SITE}{n % 50}.xml") for n in range(first, first + 300_000))

    def whole(number: int) -> list[RuleTrend]:
        with audits.past(many(number * 100_000)) as (_, past):
            past.compare(f"2026-11-0{number}", RULES)
            past.resolve_missing(lambda _before, _today: (FindingStatus.RESOLVED, "now", ""))
            trends = past.trends()
            past.store(news(number), {}, {"entry.gone": RuleCoverage()}, 365, anew=False)
        return trends

    whole(2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert whole(3) == [RuleTrend("entry.gone", 100_000, 200_000, 100_000)]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000  # KiB


def test_ours_what_is_new_comes_before_what_is_more_important(audits: Audits) -> None:
    audits(gone("a"))
    with audits.past([]) as (db, past):
        FindingStore(db).put([(9.0, gone("a")), (1.0, gone("b")), (2.0, gone("c"))])
        past.compare("2026-11-02", RULES)
        assert [name(each) for each in FindingStore(db)("entry.gone")] == ["c", "b", "a"]


def test_ours_only_a_finding_that_was_not_there_before_takes_the_place_of_another(audits: Audits) -> None:
    dead = replace(gone("a"), rule="gone.linked", file="")
    asked: list[CurrentState] = []

    def decide(_: PreviousFinding, today: CurrentState) -> tuple[FindingStatus, str, str]:
        asked.append(today)
        return FindingStatus.REPLACED, "now", "gone.linked"

    audits(gone("a"), gone("b"), dead)
    with audits.past([dead, replace(dead, url=f"{SITE}b")]) as (db, past):
        past.compare("2026-11-02", RULES)
        past.resolve_missing(decide)
        assert [each.rules for each in asked] == [(), ("gone.linked",)]
        assert [(each.became, name(each)) for each in FindingStore(db).resolved("entry.gone")] == [
            ("gone.linked", "a"), ("gone.linked", "b"),
        ]  # fmt: skip
        assert [each for each in past.trends() if each.became] == [RuleTrend("entry.gone", 0, 0, 0, 0, 2)]
