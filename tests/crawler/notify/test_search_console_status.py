"""What Google says of a sitemap after it was submitted: looked at in time, kept, shown, and never in the way."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from doubles_console import EMAIL, Console, failure
from doubles_indexnow import Double, Site, memory
from doubles_listener import Reply
from typer.main import get_command

from crawler.cli import app
from crawler.notify.ledger import SubmissionStatus
from crawler.notify.ledger_status import NotifyResult, notify_status
from crawler.notify.notice import SendStatus
from crawler.notify.notify import send_notifications
from crawler.notify.session import ReplayRequest
from crawler.state.runs import RunResult, RunStatus

NOW = 1_800_000_000.0
HOURS = 3600.0
KEY = "search console"


@pytest.fixture
def site(google: Console) -> Iterator[Site]:
    with memory() as folder, Double() as double:
        account = folder / "account.json"
        account.write_text(google.account())
        google.owners.add((f"{double.home}/", EMAIL))
        settings = {"search_console__account": str(account), "search_console__endpoint": google.endpoint}
        yield Site(double, folder, indexnow__key="", **settings)


def tell(site: Site, run: int | None = None, now: float = NOW, **settings: Any) -> NotifyResult:
    """What is told after a run; without one as a person asks for it."""
    ended = RunResult(exit_code=0, status=RunStatus.DONE, run=run, message="") if run is not None else None
    again = settings.pop("again", ReplayRequest(refresh_status=run is None))
    dry_run = settings.pop("dry_run", False)
    plan = site.planned(**settings)
    return anyio.run(
        lambda: send_notifications(plan, "shop", ended=ended, dry_run=dry_run, again=again, clock=lambda: now)
    )


def idle(site: Site, now: float, **settings: Any) -> NotifyResult:
    """What is told after a run that changed nothing."""
    return tell(site, site.run(["/"], outcome="unchanged"), now, **settings)


def says(site: Site, google: Console, **fields: object) -> None:
    """Let Google say this of the sitemap from now on."""
    place = (f"{site.double.home}/", f"{site.double.home}/sitemap.xml")
    google.sitemaps[place] = {"path": place[1], "lastSubmitted": "2026-11-19T03:31:00.000Z", **fields}


def read(site: Site, google: Console, errors: int, warnings: int = 0) -> None:
    """Let Google have read it, with numbers as it writes them."""
    says(
        site,
        google,
        lastDownloaded="2026-11-20T04:05:06.000Z",
        isPending=False,
        errors=str(errors),
        warnings=str(warnings),
        contents=[{"type": "web", "submitted": "1204"}],
    )


def kept(site: Site) -> SubmissionStatus | None:
    (channel,) = notify_status(site.plan.state).channels
    return channel.reading


def looks(google: Console) -> int:
    return sum(heard.method == "GET" for heard in google.heard)


@pytest.mark.thorough
def test_google_reads_later_and_what_it_found_is_told_once_and_until_it_is_repaired(
    site: Site, google: Console
) -> None:
    first = tell(site, site.run(["/"]))
    assert "Google has not read the sitemap yet" in first.deliveries[0].said
    assert kept(site) == first.reading
    assert first.reading == SubmissionStatus(
        channel=KEY, at=NOW, pending=True, sentence="Google has not read the sitemap yet"
    )
    read(site, google, 2, 1)
    early = idle(site, NOW + 6 * HOURS - 1)
    assert (early.reading, early.notes, looks(google)) == (first.reading, (), 1)
    found = idle(site, NOW + 6 * HOURS)
    assert (found.notify_pending, found.deliveries, looks(google)) == (False, (), 2)
    assert found.notes == ("search console: Google found 2 errors in the sitemap; see Sitemaps in Search Console",)
    assert (
        kept(site)
        == found.reading
        == SubmissionStatus(
            channel=KEY,
            at=NOW + 6 * HOURS,
            submitted="2026-11-19T03:31:00.000Z",
            downloaded="2026-11-20T04:05:06.000Z",
            errors=2,
            warnings=1,
            sentence="Google last read the sitemap on 2026-11-20, with 2 errors, 1 warning and 1,204 web in it",
        )
    )
    assert idle(site, NOW + 12 * HOURS).notes == ()
    read(site, google, 7)
    assert "7 errors in the sitemap (before: 2)" in idle(site, NOW + 18 * HOURS).notes[0]
    read(site, google, 0)
    assert idle(site, NOW + 24 * HOURS).notes == ()
    reading = kept(site)
    assert reading
    assert (reading.errors, reading.warnings) == (0, 0)
    assert len(google.submitted) == 1


def test_ours_what_is_read_when_it_is_submitted_is_kept_too(site: Site, google: Console) -> None:
    read(site, google, 3)
    announced = tell(site, site.run(["/"]))
    assert (looks(google), len(google.submitted)) == (1, 1)
    assert announced.reading
    assert announced.reading.errors == 3
    assert "found 3 errors" in announced.notes[0]
    assert not idle(site, NOW + HOURS).notes
    assert looks(google) == 1


def test_ours_a_person_always_sees_it_anew_but_a_dry_run_and_others_ask_nobody(site: Site, google: Console) -> None:
    tell(site, site.run(["/"]))
    for _ in range(2):
        assert tell(site).reading
    assert looks(google) == 3
    tell(site, dry_run=True)
    tell(site, again=ReplayRequest(refresh_status=True, only="webhook"))
    assert looks(google) == 3
    idle(site, NOW - HOURS)  # the clock was set back: what is kept may be of any age
    idle(site, NOW + 1, search_console__check_interval="1h")
    assert looks(google) == 5
    idle(site, NOW + 2, search_console__check_interval="2s")
    assert looks(google) == 5


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (None, "otherwise submit it with siteatlas notify --since 0"),
        (failure(403, "No permission", "forbidden"), "is not an owner of the property"),
        (failure(404, "not found", "notFound"), "does not list this sitemap"),
        (Reply(503), "503"),
        (Reply(200, b"<html>"), "cannot be read"),
        (Reply(200, b'{"errors": "99999999999999999999"}'), "cannot be read"),
        (Reply(200, b'{"warnings": 99999999999999999999}'), "cannot be read"),
        (Reply(200, b'{"errors": "-1"}'), "cannot be read"),
        (Reply(200, b'{"lastDownloaded": ["x"]}'), "cannot be read"),
    ],
)
def test_google_a_look_that_fails_is_told_and_in_nobodys_way(
    site: Site, google: Console, reply: Reply | None, words: str
) -> None:
    site.run(["/"])
    google.next = [reply] if reply else []
    announced = tell(site)
    (said,) = announced.notes
    assert said.startswith("search console: the status of the sitemap at Google is unknown: ")
    assert words in said
    assert (announced.notify_pending, announced.deliveries, announced.reading, kept(site)) == (False, (), None, None)
    read(site, google, 1)
    assert tell(site).reading == kept(site) is not None
    google.next = [reply or Reply(500)]
    announced = tell(site, now=NOW + HOURS)
    assert (announced.notify_pending, announced.reading, kept(site)) == (False, kept(site), announced.reading)
    assert announced.reading
    assert announced.reading.at == NOW, "what was known stays"


def test_ours_numbers_up_to_the_largest_and_words_of_any_kind_are_kept(site: Site, google: Console) -> None:
    site.run(["/"])
    says(
        site,
        google,
        lastDownloaded="\x1b[2J" + "9" * 500,
        errors=str(2**63 - 1),
        contents=[{"type": "\x1b]0;x" * 20, "submitted": "1"}] * 20,
    )
    announced = tell(site)
    reading = kept(site)
    assert reading
    assert reading.errors == 2**63 - 1
    for text in (reading.sentence, reading.downloaded, *announced.notes):
        assert text.isprintable()
        assert len(text) <= 200


def test_ours_who_could_not_submit_is_not_asked_as_well(site: Site, google: Console) -> None:
    run = site.run(["/"])
    site.double.files["/sitemap.xml"] = b"<urlset>old</urlset>"
    announced = tell(site, run)
    assert announced.deliveries[0].reception is SendStatus.DEFERRED
    assert (announced.notes, google.heard) == ((), [])


def test_ours_commands_show_what_google_says(
    site: Site, google: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = site.plan.config.search_console
    file = tmp_path / "sites.toml"
    file.write_text(
        f'[site]\nurl = "{site.double.home}/"\n[output]\ndirectory = "{site.plan.output}"\n'
        f'[state]\ndirectory = "{site.folder / "state"}"\n'
        f'[search_console]\naccount = "{settings.account}"\nendpoint = "{settings.endpoint}"\n'
    )
    built = get_command(app.app)

    def siteatlas(command: str, *words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["siteatlas", command, "--config", str(file), *words])
        monkeypatch.setattr(app, "app", built)
        code = app.run_command_line()
        return code, " ".join(capsys.readouterr().out.split())

    site.run(["/"])
    read(site, google, 2, 1)
    sentence = "Google last read the sitemap on 2026-11-20, with 2 errors, 1 warning and 1,204 web in it"
    code, said = siteatlas("notify")
    assert (code, f"search console: {sentence}" in said) == (0, True)
    assert "found 2 errors in the sitemap" in said
    code, said = siteatlas("notify", "--since", "0")
    assert (code, said.count(sentence)) == (0, 1), "what was said of the submission is not said twice"
    code, said = siteatlas("status")
    assert (code, f"search console: {sentence} (checked on 20" in said) == (0, True)
    assert '"errors": 2, "warnings": 1, "sentence": "Google last read' in siteatlas("status", "--json")[1]
    assert '"reading": { "channel": "search console", "at": 1' in siteatlas("notify", "--json")[1]
    google.next = [Reply(503)]
    code, said = siteatlas("notify")
    assert (code, "is unknown: Search Console answered 503" in said, sentence in said) == (0, True, True)
