"""The contract of a frontier: every implementation against a dictionary that does the same thing plainly."""

import sqlite3
from pathlib import Path

import pytest
from frontiers import INDEXABLE, admission, always, url
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from crawler.config.config import Config
from crawler.config.plan import plan_crawl
from crawler.crawl.assembly import open_frontier
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.frontier.storage import pack_links, unpack_links
from crawler.errors import StateInUse, StorageError, UsageError
from crawler.model import (
    DiscoveredBy,
    DiscoveredUrl,
    Done,
    Lease,
    Outcome,
    Request,
    Retry,
    State,
    Url,
    UrlRecord,
    Verdict,
    Wait,
)
from crawler.state import schema
from crawler.state.lock import hold_lock
from crawler.state.schema import STATE_DB
from crawler.state.store import Store


def state_of(frontier: SqliteFrontier, address: Url) -> State | None:
    verdict = frontier.verdict_of(address)
    return verdict.state if verdict else None


def lease_of(frontier: SqliteFrontier, now: float = 0.0) -> Lease:
    lease = frontier.next(now, always)
    assert isinstance(lease, Lease)
    return lease


def test_ours_a_url_is_leased_to_one_holder_at_a_time(frontier: SqliteFrontier) -> None:
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.SEED, 0), DiscoveredUrl(url(2), DiscoveredBy.SEED, 0)])
    assert {lease_of(frontier).url, lease_of(frontier).url} == {url(1), url(2)}
    assert isinstance(frontier.next(0.0, always), Wait)


def test_ours_a_resumed_run_counts_the_hosts_that_it_had_admitted(tmp_path: Path) -> None:
    config = Config.model_validate(
        {
            "site": {"url": "https://www.h.com/"},
            "scope": {"subdomains": True, "max_hosts": 3},
            "output": {"directory": str(tmp_path / "out")},
            "state": {"directory": str(tmp_path / "state")},
        }
    )
    admitted = []
    for part in range(3):
        plan = plan_crawl(config)
        with Store(plan.state, {}) as store:
            frontier = open_frontier(plan, store)
            links = [Url(f"https://n{part + number}.h.com/{part}") for number in range(3)]
            seeds = [DiscoveredUrl(Url("https://seed.h.com/"), DiscoveredBy.SEED, 0)]
            frontier.admit([*seeds, *(DiscoveredUrl(link, DiscoveredBy.LINK, 1) for link in links)])
            frontier.land()
            admitted.append([link for link in links if state_of(frontier, link) is State.PENDING])
    assert admitted == [
        ["https://n0.h.com/0", "https://n1.h.com/0", "https://n2.h.com/0"],
        ["https://n1.h.com/1", "https://n2.h.com/1"],
        ["https://n2.h.com/2"],
    ]


def test_ours_a_settled_url_that_is_requeued_waits_and_is_leased_again(frontier: SqliteFrontier) -> None:
    frontier.admit([DiscoveredUrl(url(number), DiscoveredBy.SEED, 0) for number in (1, 2)])
    leases = {lease.url: lease for lease in (lease_of(frontier), lease_of(frontier))}
    for lease in leases.values():
        frontier.settle(Outcome(lease, INDEXABLE))
    assert frontier.counts() == {State.INDEXABLE: 2}
    frontier.requeue([leases[url(2)]])
    assert {state: count for state, count in frontier.counts().items() if count} == {
        State.INDEXABLE: 1,
        State.PENDING: 1,
    }
    assert (state_of(frontier, url(1)), state_of(frontier, url(2))) == (State.INDEXABLE, State.PENDING)
    again = lease_of(frontier)
    assert (again.url, again.attempts) == (url(2), leases[url(2)].attempts)
    frontier.settle(Outcome(again, INDEXABLE))
    assert isinstance(frontier.next(0.0, always), Done)


def test_ours_the_size_of_a_frontier_is_that_of_its_database(frontier: SqliteFrontier, db: sqlite3.Connection) -> None:
    frontier.admit([DiscoveredUrl(url(number), DiscoveredBy.SEED, 0) for number in range(3_000)])
    frontier.commit()
    (pages,), (page_size,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    assert 100_000 < frontier.size() <= pages * page_size


def test_ours_done_is_said_only_when_nothing_waits_and_nothing_is_out(frontier: SqliteFrontier) -> None:
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.SEED, 0)])
    lease = lease_of(frontier)
    assert isinstance(frontier.next(0.0, always), Wait)
    frontier.settle(Outcome(lease, INDEXABLE, links=[(url(2), DiscoveredBy.LINK)]))
    second = lease_of(frontier)
    assert (second.url, second.depth) == (url(2), 1)
    frontier.settle(Outcome(second, INDEXABLE))
    assert isinstance(frontier.next(0.0, always), Done)


def test_ours_a_stale_settle_changes_nothing(frontier: SqliteFrontier) -> None:
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.SEED, 0)])
    lease = lease_of(frontier)
    frontier.settle(Outcome(lease, INDEXABLE))
    frontier.settle(Outcome(lease, Verdict(State.NOINDEX), links=[(url(9), DiscoveredBy.LINK)]))
    assert frontier.counts() == {State.INDEXABLE: 1}
    assert frontier.verdict_of(url(9)) is None


def test_ours_evidence_revises_a_refusal_for_want_of_evidence(frontier: SqliteFrontier) -> None:
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.NOFOLLOW, 1), DiscoveredUrl(url(2), DiscoveredBy.LINK, 4)])
    assert frontier.counts() == {State.NOFOLLOW: 1, State.TOO_DEEP: 1}
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.LINK, 2), DiscoveredUrl(url(2), DiscoveredBy.LINK, 2)])
    assert frontier.counts() == {State.PENDING: 2}
    assert {lease_of(frontier).depth, lease_of(frontier).depth} == {1, 2}


@pytest.mark.parametrize("more", [DiscoveredBy.SITEMAP, DiscoveredBy.LINK | DiscoveredBy.SITEMAP])
def test_ours_evidence_of_a_url_is_all_that_was_found_of_it(frontier: SqliteFrontier, more: int) -> None:
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.LINK, 1), DiscoveredUrl(url(1), more, 1)])
    (record,) = frontier.records(State.PENDING)
    assert record.found == DiscoveredBy.LINK | DiscoveredBy.SITEMAP


def test_ours_evidence_of_a_trap_is_all_that_was_found_of_it(db: sqlite3.Connection) -> None:
    trap = Verdict(State.TRAP, "endless")
    frontier = SqliteFrontier(db, lambda find: None if find.found & DiscoveredBy.SEED else trap)
    for found, depth in ((DiscoveredBy.LINK, 3), (DiscoveredBy.NOFOLLOW, 2), (DiscoveredBy.LINK, 5)):
        frontier.admit([DiscoveredUrl(url(1), found, depth)])
    assert [*frontier.records(State.TRAP)] == [
        UrlRecord(url(1), State.TRAP, "endless", DiscoveredBy.LINK | DiscoveredBy.NOFOLLOW, 2, None)
    ]
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.SEED, 0)])
    assert lease_of(frontier).found == DiscoveredBy.LINK | DiscoveredBy.NOFOLLOW | DiscoveredBy.SEED


def test_ours_a_page_that_no_page_led_to_is_asked_again_when_one_does(frontier: SqliteFrontier) -> None:
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.PREVIOUS_RUN, 0)])
    frontier.settle(Outcome(lease_of(frontier), Verdict(State.UNLINKED)))
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.PREVIOUS_RUN, 0)])
    assert frontier.counts() == {State.UNLINKED: 1}
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.LINK, 1)])
    assert lease_of(frontier).found == DiscoveredBy.PREVIOUS_RUN | DiscoveredBy.LINK


@pytest.mark.parametrize("outside", [DiscoveredBy.AUDIT_SOURCE, DiscoveredBy.AUDIT_SOURCE | DiscoveredBy.SPELLING])
def test_ours_evidence_from_outside_stays_when_a_page_leads_there_too(frontier: SqliteFrontier, outside: int) -> None:
    frontier.admit([DiscoveredUrl(url(1), outside, 0), DiscoveredUrl(url(2), DiscoveredBy.SEED, 0)])
    first = lease_of(frontier)
    frontier.settle(Outcome(lease_of(frontier), INDEXABLE, links=[(url(1), DiscoveredBy.LINK)]))
    frontier.settle(Outcome(first, INDEXABLE))
    (record,) = [each for each in frontier.records(State.INDEXABLE) if each.url == url(1)]
    assert (record.found, record.depth) == (outside | DiscoveredBy.LINK, 0)


def test_ours_a_retry_is_a_later_turn(frontier: SqliteFrontier) -> None:
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.SEED, 0)])
    frontier.retry(Retry(lease_of(frontier), 100.0, "answered 503"))
    waiting = frontier.next(40.0, always)
    assert isinstance(waiting, Wait)
    assert 0 < waiting.seconds <= 60
    again = lease_of(frontier, 100.0)
    assert again.attempts == 1


def test_ours_an_origin_that_is_not_ready_holds_nobody_else_up(frontier: SqliteFrontier) -> None:
    frontier.admit(
        [DiscoveredUrl(url(1, "slow"), DiscoveredBy.SEED, 0), DiscoveredUrl(url(1, "quick"), DiscoveredBy.SEED, 0)]
    )
    answer = frontier.next(0.0, lambda home, _now: 5.0 if "slow" in home else 0.0)
    assert isinstance(answer, Lease)
    assert answer.url == url(1, "quick")
    waiting = frontier.next(0.0, lambda home, _now: 5.0 if "slow" in home else 0.0)
    assert waiting == Wait(5.0)
    assert frontier.next(0.0, lambda _home, _now: 0.5) == Wait(0.5)


def test_ours_by_level_nothing_deeper_is_handed_out_while_something_nearer_is_out(db: sqlite3.Connection) -> None:
    frontier = SqliteFrontier(db, admission, by_level=True)
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.SEED, 0), DiscoveredUrl(url(2), DiscoveredBy.LINK, 1)])
    near = lease_of(frontier)
    assert isinstance(frontier.next(0.0, always), Wait)
    frontier.settle(Outcome(near, INDEXABLE, finds=(DiscoveredUrl(url(3), DiscoveredBy.REDIRECT, 0),)))
    assert lease_of(frontier).url == url(3)


@pytest.mark.parametrize(("by_level", "depth", "second"), [(False, 2, 3), (True, 2, 2), (True, 1, 3)])
def test_ours_when_the_first_are_in_vain_one_that_was_found_later_has_its_turn(
    db: sqlite3.Connection, by_level: bool, depth: int, second: int
) -> None:
    """By levels, it must be no deeper than the first."""
    frontier = SqliteFrontier(db, admission, by_level=by_level)
    frontier.admit(
        [
            DiscoveredUrl(url(1), DiscoveredBy.LINK, 1),
            DiscoveredUrl(url(2), DiscoveredBy.LINK, 1),
            DiscoveredUrl(url(3), DiscoveredBy.LINK, depth),
        ]
    )
    frontier.retry(Retry(lease_of(frontier), 0.0, "answered 503"))
    answer = frontier.next(0.0, always, far=True)
    assert isinstance(answer, Lease)
    assert answer.url == url(second)


def test_ours_what_was_not_settled_is_pending_at_the_next_start(tmp_path: Path) -> None:
    first = STATE_DB.open(tmp_path / "state.db")
    frontier = SqliteFrontier(first, admission)
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.SEED, 0), DiscoveredUrl(url(2), DiscoveredBy.SEED, 0)])
    frontier.settle(Outcome(lease_of(frontier), INDEXABLE, links=[(url(3), DiscoveredBy.LINK)]))
    lease_of(frontier)
    frontier.commit()
    first.close()
    second = STATE_DB.open(tmp_path / "state.db")
    again = SqliteFrontier(second, admission)
    assert again.counts() == {State.INDEXABLE: 1, State.PENDING: 2}
    assert {lease_of(again).url, lease_of(again).url} == {url(2), url(3)}
    second.close()


def test_ours_an_outcome_is_settled_as_a_whole_or_not_at_all(db: sqlite3.Connection) -> None:
    def breaks(find: DiscoveredUrl) -> Verdict | None:
        if find.url == url(3):
            raise RuntimeError("no")
        return None

    frontier = SqliteFrontier(db, breaks)
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.SEED, 0)])
    frontier.commit()
    lease = lease_of(frontier)
    with pytest.raises(RuntimeError):
        frontier.settle(Outcome(lease, INDEXABLE, links=[(url(2), DiscoveredBy.LINK), (url(3), DiscoveredBy.LINK)]))
    assert frontier.verdict_of(url(2)) is None
    assert state_of(frontier, url(1)) is State.PENDING


def test_ours_records_come_in_byte_order(frontier: SqliteFrontier) -> None:
    frontier.admit([DiscoveredUrl(url(n), DiscoveredBy.SEED, 0) for n in (3, 1, 2)])
    for _ in range(3):
        frontier.settle(Outcome(lease_of(frontier), INDEXABLE, status=200))
    records = list(frontier.records(State.INDEXABLE))
    assert [record.url for record in records] == [url(1), url(2), url(3)]
    assert [record.status for record in records] == [200] * 3


def test_ours_a_url_keeps_its_id_from_run_to_run(db: sqlite3.Connection) -> None:
    first = SqliteFrontier(db, admission, run=1)
    first.admit([DiscoveredUrl(url(n), DiscoveredBy.SEED, 0) for n in (1, 2)])
    second_id = [lease_of(first).id for _ in range(2)][1]
    first.commit()
    db.execute("DELETE FROM visit")
    second = SqliteFrontier(db, admission, run=2)
    second.admit([DiscoveredUrl(url(2), DiscoveredBy.SEED, 0)])
    assert lease_of(second).id == second_id
    assert second.counts() == {State.PENDING: 1}


def test_ours_every_request_leaves_a_line_in_the_trail(db: sqlite3.Connection, frontier: SqliteFrontier) -> None:
    frontier.admit([DiscoveredUrl(url(1), DiscoveredBy.SEED, 0)])
    requests = [Request(10.0, "503", False, 20, 0.25), Request(30.5, "200", True, 2000, 0.5)]
    frontier.retry(Retry(lease_of(frontier), 0.0, "answered 503", requests[0]))
    frontier.settle(Outcome(lease_of(frontier), INDEXABLE, request=requests[1]))
    frontier.commit()
    (trail,) = db.execute("SELECT trail FROM visit").fetchone()
    assert Request.read(trail) == requests


def test_ours_hops_counts_redirects_that_nothing_else_shortcuts(frontier: SqliteFrontier) -> None:
    frontier.admit([DiscoveredUrl(url(0), DiscoveredBy.SEED, 0)])
    for number in range(3):
        lease = lease_of(frontier)
        assert frontier.hops(lease) == number
        hop = DiscoveredUrl(url(number + 1), DiscoveredBy.REDIRECT, 0, lease.id)
        frontier.settle(Outcome(lease, Verdict(State.REDIRECT, target=hop.url), finds=(hop,)))


@pytest.mark.parametrize(("content", "error"), [(b"this is not a database" * 100, StorageError), (b"", None)])
def test_ours_a_state_file_that_is_no_database_is_told_in_a_sentence(
    tmp_path: Path, content: bytes, error: type[Exception] | None
) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(content)
    if error is None:
        STATE_DB.open(path).close()
        return
    with pytest.raises(error, match=r"state\.db cannot be used as state: .*--state"):
        STATE_DB.open(path)
    assert path.read_bytes() == content


def test_ours_a_foreign_database_and_one_of_a_newer_version_are_left_alone(tmp_path: Path) -> None:
    foreign = sqlite3.connect(tmp_path / "foreign.db")
    foreign.execute("CREATE TABLE theirs (x)")
    foreign.commit()
    foreign.close()
    with pytest.raises(StorageError, match="another program"):
        STATE_DB.open(tmp_path / "foreign.db")
    newer = STATE_DB.open(tmp_path / "newer.db")
    newer.execute("PRAGMA user_version = 999")
    newer.close()
    with pytest.raises(UsageError, match="newer version"):
        STATE_DB.open(tmp_path / "newer.db")


def test_ours_one_process_holds_the_state(tmp_path: Path) -> None:
    import os

    held = hold_lock(tmp_path / "state")
    with pytest.raises(StateInUse, match=str(os.getpid())):
        hold_lock(tmp_path / "state")
    os.close(held)
    os.close(hold_lock(tmp_path / "state"))


@pytest.mark.parametrize("ids", [[], [0], [1, 127, 128, 300, 2**40], list(range(1000))])
def test_ours_outlinks_pack_and_unpack(ids: list[int]) -> None:
    followed = [(number, DiscoveredBy.LINK) for number in ids]
    assert unpack_links(pack_links(followed)) == followed
    mixed = [*followed, *((number, DiscoveredBy.NOFOLLOW) for number in ids)]
    assert unpack_links(pack_links(reversed(mixed))) == sorted(mixed, key=lambda link: (link[1], link[0]))


class FrontierMachine(RuleBasedStateMachine):
    """Random admissions, leases, settles, retries, commits and restarts, against a dictionary."""

    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        self.db.executescript(schema.STATE_TABLES)
        self.frontier = SqliteFrontier(self.db, admission)
        self.oracle: dict[Url, tuple[State, int, int]] = {}  # state, flags, depth
        self.out: dict[int, Lease] = {}

    def know(self, address: Url, found: int, depth: int) -> None:
        state, flags, nearest = self.oracle.get(address, (None, 0, depth))
        flags, nearest = flags | found, min(nearest, depth)
        if state in (None, State.NOFOLLOW, State.TOO_DEEP):
            verdict = admission(DiscoveredUrl(address, flags, nearest))
            state = verdict.state if verdict else State.PENDING
        self.oracle[address] = (state, flags, nearest)

    @rule(number=st.integers(0, 12), nofollow=st.booleans(), depth=st.integers(0, 5))
    def admit(self, number: int, nofollow: bool, depth: int) -> None:
        found = DiscoveredBy.NOFOLLOW if nofollow else DiscoveredBy.LINK
        self.frontier.admit([DiscoveredUrl(url(number), found, depth)])
        self.know(url(number), found, depth)

    @rule(target=leases)
    def lease(self) -> Lease | None:
        answer = self.frontier.next(0.0, always)
        out = {lease.url for lease in self.out.values()}
        waiting = {u for u, (state, _, _) in self.oracle.items() if state is State.PENDING} - out
        if isinstance(answer, Lease):
            assert answer.url in waiting
            self.out[answer.id] = answer
            return answer
        assert not waiting
        assert isinstance(answer, Wait if self.out else Done)
        return None

    @rule(lease=leases, links=st.lists(st.integers(0, 12), max_size=4), state=st.sampled_from(["indexable", "noindex"]))
    def settle(self, lease: Lease | None, links: list[int], state: str) -> None:
        if lease is None:
            return
        self.frontier.settle(
            Outcome(lease, Verdict(State(state)), links=[(url(n), int(DiscoveredBy.LINK)) for n in links])
        )
        if self.out.get(lease.id) is lease:
            del self.out[lease.id]
            for number in links:
                self.know(url(number), DiscoveredBy.LINK, lease.depth + 1)
            _, flags, depth = self.oracle[lease.url]
            self.oracle[lease.url] = (State(state), flags, depth)

    @rule()
    def restart(self) -> None:
        self.frontier.land()  # after a kill, what was in flight may have to wait for its turn alone
        self.frontier = SqliteFrontier(self.db, admission)
        self.out.clear()

    @invariant()
    def agree(self) -> None:
        counts: dict[State, int] = {}
        for address, (state, _, _) in self.oracle.items():
            counts[state] = counts.get(state, 0) + 1
            assert state_of(self.frontier, address) is state
        assert self.frontier.counts() == counts

    def teardown(self) -> None:
        self.db.close()


FrontierMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestFrontierAgainstADictionary = FrontierMachine.TestCase
