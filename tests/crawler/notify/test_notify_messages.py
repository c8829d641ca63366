"""Messages about a site with a history: changes and trouble, each once, and no secret."""

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from doubles_indexnow import KEY, Say, Site
from telling import NOW, begun, hooked, occasions, outstanding, tell

from crawler.notify.delivery import ClaimResult, use_claims
from crawler.notify.ledger import LEDGER_DB
from crawler.notify.ledger_status import notify_status
from crawler.notify.notice import Occasion, SendStatus
from crawler.notify.session import ReplayRequest


def test_ours_a_message_tells_all_that_changed_also_of_the_first_run(site: Site) -> None:
    tell(site, site.run(["/a", "/b"]), **hooked(site))
    tell(site, site.run(["/a", "/b"], outcome="unchanged"), **hooked(site))
    tell(site, site.run(["/a", "/c", "/d", "/e"]), **hooked(site, notify__max_urls=2))
    first, second = site.double.messages
    assert first["counts"]["added"] == first["more"] == 2
    assert not first["changes"]  # a whole set is no news
    assert first["sentence"] == "the whole sitemap is new: 2 pages are listed"
    assert second["runs"] == {"after": 2, "until": 3}
    assert second["counts"] | {"total": 0} == {
        "added": 3,
        "changed": 0,
        "removed": 1,
        "moved": 0,
        "deindexed": 0,
        "total": 0,
    }
    assert (len(second["changes"]), second["pages"], second["site"]) == (3, 4, "shop")


def test_ours_a_message_that_was_put_off_is_the_same_another_time(site: Site) -> None:
    tell(site, site.run(["/a"]), **hooked(site))
    site.double.says += [Say(503)] * 3
    assert tell(site, site.run(["/a", "/b"]), **hooked(site)).notify_pending
    site.run(["/a"])
    tell(site, now=NOW + 86_400, **hooked(site))
    put_off, *_, again, after = site.double.messages[1:]
    assert put_off == again
    assert after["counts"]["removed"] == 1


def test_ours_a_message_that_is_refused_is_set_aside(site: Site) -> None:
    site.double.says += [Say(410)]
    answer = tell(site, site.run(["/a"]), **hooked(site))
    assert not answer.notify_pending
    assert "410" in answer.sentences[0]
    tell(site, **hooked(site))
    assert len(site.double.messages) == 1
    tell(site, again=ReplayRequest(refused=True), **hooked(site))
    assert site.double.messages[0] == site.double.messages[1]
    assert not notify_status(site.plan.state).channels[0].refused


def test_ours_trouble_is_told_once_and_once_more_when_it_is_over(site: Site) -> None:
    tell(site, site.run(["/a"]), **hooked(site))
    for exit_code in (4, 6):
        tell(site, 2, exit_code=exit_code, **hooked(site))
    assert occasions(site) == ["changes"]
    for exit_code in (5, 5, 4, 3, 6, 1):
        tell(site, 2, exit_code=exit_code, **hooked(site))
    assert occasions(site) == ["changes", "trouble"]
    assert site.double.messages[1]["exit_code"] == 5
    assert notify_status(site.plan.state).channels[0].knows_trouble
    tell(site, 2, exit_code=4, **hooked(site))
    tell(site, site.run(["/a", "/b"]), **hooked(site))
    tell(site, site.run(["/a", "/b"], outcome="unchanged"), **hooked(site))
    assert occasions(site) == ["changes", "trouble", "recovery", "changes"]
    assert not notify_status(site.plan.state).channels[0].knows_trouble
    tell(site, 4, exit_code=7, **hooked(site))
    assert occasions(site)[4:] == ["trouble"]


WALL = "a firewall responded in place of {0} pages (such as https://h.test/{0}): tell it to let the crawler through"


GONE = "{0} of the 40 published pages would leave, over the 20% that output.max_shrink allows: {0} client error ({1})"


BROKEN = "{0} of 40 pages failed (such as https://h.test/{0}: answered 500), over the 20% that output.max_failed allows"


NO_KEY = "the environment variable FTP_{0} is not set, but the configuration refers to it. Set the variable"


@pytest.mark.parametrize("seed", range(3))
def test_ours_trouble_of_another_cause_is_told_and_the_same_is_not_told_again(site: Site, seed: int) -> None:
    tell(site, site.run(["/a"]), **hooked(site))
    dice, seen, told = random.Random(seed), set[str](), ["changes"]
    for night in range(2, 14):
        cause = dice.choice((WALL, GONE, BROKEN, NO_KEY))
        told += ["trouble"] * (cause not in seen)
        seen.add(cause)
        tell(site, 2, exit_code=3, message=cause.format(night, f"https://h.test/{night}: answered 404"), **hooked(site))
        assert occasions(site) == told
    tell(site, site.run(["/a"], outcome="unchanged"), **hooked(site))
    tell(site, 3, exit_code=3, message=WALL.format(1), **hooked(site))
    assert occasions(site) == [*told, "recovery", "trouble"]


def test_ours_trouble_needs_no_live_sitemap_and_is_told_again_until_it_is_known(site: Site) -> None:
    tell(site, site.run(["/a"]), **hooked(site))
    site.double.files["/sitemap.xml"] = 404
    site.double.says += [Say(500)] * 3
    assert tell(site, 2, exit_code=5, **hooked(site)).notify_pending
    assert "a failed run" in outstanding(site)[0]
    assert not tell(site, now=NOW + 60, **hooked(site)).notify_pending
    tell(site, **hooked(site))
    assert occasions(site) == ["changes", *["trouble"] * 4]
    assert len({message["id"] for message in site.double.messages[1:]}) == 1
    assert len({message["at"] for message in site.double.messages[1:]}) == 1


def test_ours_trouble_that_is_over_before_it_could_be_told_is_not_told(site: Site) -> None:
    tell(site, site.run(["/a"]), **hooked(site))
    site.double.says += [Say(500)] * 3
    tell(site, 2, exit_code=5, **hooked(site))
    tell(site, site.run(["/a"], outcome="unchanged"), **hooked(site))
    assert occasions(site) == ["changes", *["trouble"] * 3]
    assert not outstanding(site)


def test_ours_who_wants_changes_only_hears_of_no_trouble(site: Site) -> None:
    tell(site, site.run(["/a"]), **hooked(site, webhook__on=["changes"]))
    tell(site, 2, exit_code=5, **hooked(site, webhook__on=["changes"]))
    tell(site, site.run(["/a", "/b"]), **hooked(site, webhook__on=["changes"]))
    assert occasions(site) == ["changes", "changes"]
    trouble = notify_status(site.plan.state)
    assert {sent.occasion for sent in trouble.log} == {Occasion.CHANGES}


def test_ours_one_channel_in_trouble_keeps_no_other_from_being_told(site: Site) -> None:
    begun(site, "/a")
    both = {"webhook__urls": [f"{site.double.home}/one", f"{site.double.home}/two"]}
    tell(site, **both)
    site.double.says += [Say(403), Say(404)]
    answer = tell(site, site.run(["/a", "/b"]), **both)
    assert [each.reception for each in answer.deliveries] == ["later", "refused", "accepted"]


def test_ours_the_log_is_bounded(site: Site) -> None:
    begun(site, "/")
    for number in range(6):
        tell(site, site.run(["/", f"/{number}"]), state__keep_runs=3)
    with closing(sqlite3.connect(site.plan.state / LEDGER_DB.file)) as db:
        assert db.execute("SELECT count(*) FROM sent").fetchone() == (3,)


@pytest.mark.parametrize("who", ["engine", "chat"])
def test_ours_no_secret_is_in_the_ledger_or_in_what_is_told(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, who: str
) -> None:
    chat = f"{site.double.home}/services/T0/xoxb-SECRET-path"
    monkeypatch.setenv("HIDDEN", KEY if who == "engine" else chat)
    (tmp_path / "sign").write_text("SECRET-signing-key\n")
    signed = {"indexnow__key": "", "webhook__urls": ["env:HIDDEN"], "webhook__secret": f"file:{tmp_path}/sign"}
    secret: dict[str, Any] = {"indexnow__key": "env:HIDDEN"} if who == "engine" else signed
    tell(site, site.run(["/"]), **secret)
    said = ""
    for status in (200, 403, 410, 500, 422, 429):
        body = f'{{"e": "not {KEY if who == "engine" else "/services/T0/xoxb-SECRET-path"}"}}'.encode()
        site.double.says += [Say(status, (("Content-Type", "application/json"),), body)] * 6
        run = site.run(["/", f"/{status}"])
        answer = tell(site, run, exit_code=5 if status == 500 else 0, **secret)
        said += f"{answer} {answer.as_json()} {notify_status(site.plan.state)}"
        site.double.says.clear()
        files = [path for path in site.plan.state.glob(f"{LEDGER_DB.file}*") if path.is_file()]
        said += "".join(path.read_bytes().decode("latin-1") for path in files)
    assert "***" in said
    assert not [hidden for hidden in (KEY, "xoxb-SECRET", "SECRET-signing") if hidden in said]


class RepeatedClaims:
    """The claims of a run and of those that repeat it; the ledger is kept as it is before the first of them."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger
        self.kept = ledger.with_suffix(".kept")
        self.results: dict[str, ClaimResult] = {}

    async def claim(self, notice: str, what: str = "", changes: str = "") -> ClaimResult:
        if not self.kept.exists():
            with closing(sqlite3.connect(self._ledger)) as live, closing(sqlite3.connect(self.kept)) as copy:
                live.backup(copy)
        return self.results.setdefault(notice, ClaimResult.GRANTED)

    def end(self, notice: str, *, is_sent: bool) -> None:
        self.results[notice] = ClaimResult.SENT if is_sent else ClaimResult.GRANTED


def test_ours_a_repeated_run_tells_no_channel_a_page_twice(site: Site) -> None:
    settings = hooked(site, webhook__on=["changes"], webhook__urls=[f"{site.double.home}/{name}" for name in "abc"])
    tell(site, site.run(["/a"]), **settings)
    ledger = site.plan.state / LEDGER_DB.file
    claims = RepeatedClaims(ledger)
    use_claims(claims)
    try:
        tell(site, site.run(["/a", "/b"]), **settings)
        shutil.copy(claims.kept, ledger)  # its worker died, and another one continues from its snapshot
        tell(site, site.run(["/a", "/b", "/c"]), **settings)
    finally:
        use_claims()
    added = [[change["url"] for change in message["changes"]] for message in site.double.messages[3:]]
    assert sorted(added) == [[site.url("/b")]] * 3 + [[site.url("/c")]] * 3


def test_ours_what_may_have_been_sent_is_sent_again_only_if_a_person_wants_that(site: Site) -> None:
    settings = hooked(site, webhook__on=["changes"])
    tell(site, site.run(["/a"]), **settings)
    claims = RepeatedClaims(site.plan.state / LEDGER_DB.file)
    use_claims(claims)
    try:
        tell(site, site.run(["/a", "/b"]), **settings)
        ((notice, _),) = claims.results.items()
        shutil.copy(claims.kept, site.plan.state / LEDGER_DB.file)
        claims.results[notice] = ClaimResult.UNSURE
        (delivery,) = tell(site, site.run(["/a", "/b"], outcome="unchanged"), **settings).deliveries
        assert delivery.reception is SendStatus.REFUSED
        tell(site, site.run(["/a", "/b", "/c"]), **settings)
        sent = list(site.double.messages)
        assert len(sent) == 3
        claims.results[notice] = ClaimResult.GRANTED
        assert not tell(site, again=ReplayRequest(notices=frozenset({"another"})), **settings).deliveries
        for _ in range(2):
            tell(site, again=ReplayRequest(notices=frozenset({notice})), **settings)
        again = site.double.messages[len(sent) :]
        assert [message["changes"] for message in again] == [sent[1]["changes"]]
    finally:
        use_claims()
