"""A notice of a fleet is sent by one worker only, also when its run is repeated."""

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import anyio
import pytest
from postgres_server import PostgresServer

from crawler.config.sections import NotifyConfig
from crawler.fetch.permits import encode_line
from crawler.fleet.database import FleetDatabase, initialize, open_fleet
from crawler.fleet.deliveries import ID_LENGTH, RunDeliveries, confirm_deliveries, forget_deliveries, resend_deliveries
from crawler.fleet.leases import end_lease, take_lease
from crawler.notify.delivery import ClaimMessage, ClaimResult, SharedClaims, claim_key, send_with_retry, use_claims
from crawler.notify.notice import SendResult, SendStatus
from crawler.schedule.site_state import Trigger
from crawler.state.lock import RUN_LEASE, LeaseLost
from crawler.state.runs import RunResult, RunStatus

pytestmark = pytest.mark.anyio


class Run:
    """The notices of a run under an epoch, without its process."""

    def __init__(self, fleet: FleetDatabase, epoch: int) -> None:
        self.deliveries = RunDeliveries(fleet, "shop", epoch)
        self.claims = SharedClaims(self._tell)

    def _tell(self, message: ClaimMessage) -> None:
        self.deliveries.hear(encode_line(message))

    async def listen(self) -> None:
        async def send(line: bytes) -> None:
            assert self.claims.hear(line)

        await self.deliveries.talk(send)


@asynccontextmanager
async def runs(database: str, *epochs: int) -> AsyncIterator[tuple[FleetDatabase, list[Run]]]:
    async with open_fleet(database, checked=False) as fleet, anyio.create_task_group() as tasks:
        await initialize(fleet)
        await fleet.rows(
            "INSERT INTO site (name, config, origin, epoch, lease_until) "
            "VALUES ('shop', '{}', 'https://x', 1, now() + interval '1 minute')"
        )
        found = [Run(fleet, epoch) for epoch in epochs]
        for run in found:
            tasks.start_soon(run.listen)
        yield fleet, found
        tasks.cancel_scope.cancel()


@pytest.mark.thorough
async def test_ours_a_notice_is_sent_by_the_first_run_that_claims_it(database: str) -> None:
    async with runs(database, 1, 2) as (fleet, (first, second)):
        assert await first.claims.claim("sent") is ClaimResult.GRANTED
        assert await first.claims.claim("unsure", "webhook: changes after run 3") is ClaimResult.GRANTED
        assert await first.claims.claim("failed") is ClaimResult.GRANTED
        first.claims.end("sent", is_sent=True)
        first.claims.end("failed", is_sent=False)
        assert await first.claims.claim("told last") is ClaimResult.GRANTED
        ended = RunDeliveries(fleet, "shop", 1)
        ended.hear(encode_line(ClaimMessage("told last", "unsent")))
        ended.hear(encode_line(ClaimMessage("asked last", "ask")))  # it got no answer, so it sent nothing
        await ended.finish()
        await fleet.rows("UPDATE site SET epoch = 2")
        assert await second.claims.claim("sent") is ClaimResult.SENT
        assert await second.claims.claim("unsure") is ClaimResult.UNSURE  # it may have been sent
        assert await second.claims.claim("failed") is ClaimResult.GRANTED
        (unsure,) = await fleet.rows("SELECT what FROM delivery WHERE notice = 'unsure'")
        assert unsure["what"] == "webhook: changes after run 3"
        left = await fleet.rows("SELECT notice, epoch, delivered IS NOT NULL AS sent FROM delivery ORDER BY 1")
        assert [tuple(row.values()) for row in left] == [("failed", 2, False), ("sent", 1, True), ("unsure", 1, False)]
        with anyio.move_on_after(0.5) as waiting:  # its lease is over: it gets no answer
            await first.claims.claim("later")
        assert waiting.cancelled_caught
        await fleet.rows("UPDATE delivery SET claimed = now() - interval '8 days' WHERE notice = 'sent'")
        await forget_deliveries(fleet)
        assert len(await fleet.rows("SELECT 1 FROM delivery")) == 2


@pytest.mark.thorough
async def test_ours_a_claim_waits_until_the_database_is_back(postgres: PostgresServer, database: str) -> None:
    async with runs(database, 1) as (_, (run,)), anyio.create_task_group() as tasks:
        await anyio.to_thread.run_sync(postgres.stop)
        answers: list[bool] = []

        async def ask() -> None:
            answers.append(await run.claims.claim("notice") is ClaimResult.GRANTED)

        tasks.start_soon(ask)
        await anyio.sleep(0.3)
        assert not answers
        await anyio.to_thread.run_sync(postgres.start)
        with anyio.fail_after(20):
            while not answers:  # noqa: ASYNC110 - as the run waits
                await anyio.sleep(0.05)
    assert answers == [True]


async def test_ours_a_notice_whose_run_lost_its_lease_before_it_was_sent_is_sent_by_the_next(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def send() -> SendResult:
        pytest.fail("the lease is over")

    async def is_worth() -> bool:
        return True

    async with runs(database, 1, 2) as (fleet, (first, second)):
        monkeypatch.setattr(first.claims, "claim", partial(_losing, first.claims.claim))
        try:
            use_claims(first.claims)
            with pytest.raises(LeaseLost):
                await send_with_retry(send, NotifyConfig(), is_worth, "notice")
        finally:
            use_claims()
            RUN_LEASE.renew(math.inf)
        with anyio.fail_after(20):
            while await fleet.rows("SELECT 1 FROM delivery"):  # noqa: ASYNC110 - another connection deletes it
                await anyio.sleep(0.05)
        await fleet.rows("UPDATE site SET epoch = 2")
        assert await second.claims.claim("notice") is ClaimResult.GRANTED


async def _losing(claim: Callable[[str], Awaitable[ClaimResult]], notice: str, *_: str) -> ClaimResult:
    """Claim a notice, and lose the lease at once."""
    answer = await claim(notice)
    RUN_LEASE.renew(0.0)
    return answer


async def test_ours_a_claim_whose_answer_comes_too_late_is_given_back(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with runs(database) as (fleet, _):
        run, record = Run(fleet, 1), fleet.rows

        async def recorded(statement: str, **values: object) -> list[dict[str, object]]:
            found = await record(statement, **values)
            if statement.lstrip().startswith("INSERT"):
                tasks.cancel_scope.cancel()  # the process of the run ended
            return found

        monkeypatch.setattr(fleet, "rows", recorded)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run.listen)
            run.claims._send(ClaimMessage("notice", "ask"))
        await run.deliveries.finish()
        assert not await record("SELECT 1 FROM delivery")


async def test_ours_a_claim_that_the_database_took_and_did_not_confirm_is_given_back(database: str) -> None:
    async with runs(database) as (fleet, _):
        for notice, delivered in (("unsure", "NULL"), ("sent", "now()")):
            await fleet.rows(
                f"INSERT INTO delivery (site, notice, epoch, delivered) VALUES ('shop', '{notice}', 1, {delivered})"
            )
        ended = RunDeliveries(fleet, "shop", 1)
        for notice in ("unsure", "sent"):
            ended.hear(encode_line(ClaimMessage(notice, "ask")))
        await ended.finish()
        assert [row["notice"] for row in await fleet.rows("SELECT notice FROM delivery")] == ["sent"]


@pytest.mark.thorough
async def test_ours_the_state_is_stored_before_the_first_claim_and_before_later_changes_of_a_channel(
    database: str,
) -> None:
    seen: list[int] = []
    is_away = False
    async with runs(database) as (fleet, _):

        async def store() -> bool:
            seen.append(len(await fleet.rows("SELECT 1 FROM delivery")))
            return not is_away

        prepared = Run(fleet, 1)
        prepared.deliveries = RunDeliveries(fleet, "shop", 1, store)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(prepared.listen)
            for number, (what, changes) in enumerate(
                (
                    ("webhook a: changes", "run 1, up to run 2"),
                    ("webhook b: changes", "run 1, up to run 2"),
                    ("indexnow: 10 URLs of shop", "run 1"),
                    ("indexnow: 3 URLs of shop", "run 1"),
                    ("webhook b: changes", "run 2, up to run 3"),
                    ("webhook a: changes", "run 2, up to run 3"),
                )
            ):
                assert await prepared.claims.claim(str(number), what, changes) is ClaimResult.GRANTED
            is_away = True
            assert await prepared.claims.claim("changes", "webhook a: changes", "run 3") is ClaimResult.LATER
            assert await prepared.claims.claim("trouble", "webhook a: trouble") is ClaimResult.GRANTED
            tasks.cancel_scope.cancel()
    assert seen == [0, 4, 6, 6]


async def test_ours_what_another_worker_sent_counts_as_sent(database: str) -> None:
    sent: list[str] = []

    async def send() -> SendResult:
        sent.append("one")
        return SendResult.accepted("taken")

    async def is_worth() -> bool:
        return True

    async with runs(database, 1, 2) as (fleet, found):
        try:
            for run in found:
                use_claims(run.claims)
                result = await send_with_retry(send, NotifyConfig(), is_worth, claim_key("webhook", 1, "changes"))
                assert result.reception is SendStatus.ACCEPTED
                with anyio.fail_after(20):
                    while not await fleet.rows("SELECT 1 FROM delivery WHERE delivered IS NOT NULL"):  # noqa: ASYNC110
                        await anyio.sleep(0.02)
                await fleet.rows("UPDATE site SET epoch = 2")
        finally:
            use_claims()
    assert sent == ["one"]
    assert claim_key("webhook", 1, "changes") != claim_key("webhook", 2, "changes")


_KEYS = [f"{number}" * 32 for number in range(4)]
_UNSURE = """INSERT INTO delivery (site, notice, epoch, what)
  SELECT 'shop', unnest, 1, 'webhook: ' || unnest FROM unnest(%(keys)s::text[])"""
_SENT = RunResult(exit_code=0, status=RunStatus.DONE)


async def test_ours_a_person_says_whether_an_unsure_notice_was_sent(database: str) -> None:
    ids = [key[:ID_LENGTH] for key in _KEYS]
    async with runs(database) as (fleet, _):
        await fleet.rows(_UNSURE, keys=_KEYS)
        assert await confirm_deliveries(fleet, [ids[0]]) == [], "the run under way may still confirm it"
        await fleet.rows("UPDATE site SET lease_until = NULL, next_at = now() + interval '1 h', epoch = 5")
        assert await confirm_deliveries(fleet, [ids[0], "unknown"]) == [ids[0]]
        assert await resend_deliveries(fleet, [ids[0]]) == [], "it was sent"
        assert await resend_deliveries(fleet, [ids[1], ids[2]]) == [ids[1], ids[2]]
        lease = await take_lease(fleet, "shop", "worker", None, 60)
        assert lease
        assert (lease.attempt.trigger, sorted(lease.wanted)) == (Trigger.NOTIFY, [_KEYS[1], _KEYS[2]])
        claims = Run(fleet, lease.epoch)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(claims.listen)
            results = [await claims.claims.claim(key) for key in _KEYS[:2]]
            assert results == [ClaimResult.SENT, ClaimResult.GRANTED]
            assert await claims.claims.claim(_KEYS[3]) is ClaimResult.UNSURE, "nobody asked for this one"
            claims.claims.end(_KEYS[1], is_sent=False)
            tasks.cancel_scope.cancel()
        await claims.deliveries.finish()
        await end_lease(fleet, lease, _SENT)
        left = await fleet.rows("SELECT notice FROM delivery WHERE delivered IS NULL ORDER BY 1")
        assert [row["notice"] for row in left] == _KEYS[1:], "what could not be sent again stays for the person"
        assert await take_lease(fleet, "shop", "worker", None, 60) is None, "each request is tried once"
        assert await confirm_deliveries(fleet, ["shop"]) == ["shop"]


@pytest.mark.thorough
async def test_ours_a_request_to_send_again_outlives_a_stopped_worker(database: str) -> None:
    async with runs(database) as (fleet, _):
        await fleet.rows(_UNSURE, keys=_KEYS[:1])
        await fleet.rows("UPDATE site SET lease_until = NULL, paused = true")
        assert await resend_deliveries(fleet, ["shop"]) == ["shop"]
        for fate in (RunStatus.STOPPED, RunStatus.DONE):
            lease = await take_lease(fleet, "shop", "worker", None, 60)
            assert lease
            assert lease.wanted == _KEYS[:1]
            await end_lease(fleet, lease, RunResult(exit_code=0, status=fate))
        assert await take_lease(fleet, "shop", "worker", None, 60) is None
