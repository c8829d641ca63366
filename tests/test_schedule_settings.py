"""What the settings of a schedule come to: flags over the environment over the file, and what is told of a reload."""

import logging
import time
from pathlib import Path

import anyio
import httpx
import pytest

from crawler.cli.schedule_run import load_sites
from crawler.config.sections import DaemonConfig
from crawler.crawl.engine import Tally
from crawler.crawl.progress import ProgressLogger
from crawler.errors import UsageError
from crawler.schedule.site import config_changes
from crawler.schedule.site_state import Attempt, Trigger
from crawler.schedule.status import ScheduleStatus, attempt_text
from crawler.schedule.web.app import build_app
from crawler.state.runs import RunStatus

FILE = """
[schedule]
{schedule}
[daemon]
{daemon}
[sites.a]
site = {{url = "http://a.example/"}}
output = {{directory = "out/a"}}
[sites.b]
site = {{url = "http://b.example/"}}
output = {{directory = "out/b"}}
"""
CRON = 'cron = "30 3 * * *"'


def written(folder: Path, schedule: str = CRON, daemon: str = "", more: str = "") -> Path:
    path = folder / "sites.toml"
    path.write_text(FILE.format(schedule=schedule, daemon=daemon) + more, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("schedule", "variables", "flags", "words"),
    [
        (CRON, {}, {"every": "6h"}, "every 6 hours"),
        ('every = "1d"', {}, {"cron": "1 2 * * *"}, "1 2 * * * UTC"),
        (CRON, {"EVERY": "6h"}, {}, "every 6 hours"),
        (CRON, {"EVERY": "6h"}, {"cron": "1 2 * * *"}, "1 2 * * * UTC"),
        ('every = "1d"', {"CRON": "1 2 * * *"}, {"every": "2h"}, "every 2 hours"),
    ],
)
def test_ours_a_flag_says_when_over_the_environment_and_that_over_the_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    schedule: str,
    variables: dict[str, str],
    flags: dict[str, str],
    words: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"SITEATLAS_SCHEDULE_{name}", value)
    given = {f"schedule__{key}": value for key, value in flags.items()}
    (site, _) = load_sites(written(tmp_path, schedule), given, []).sites
    assert site.schedule is not None
    assert site.schedule.describe() == words


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ({"schedule__every": "6h", "schedule__cron": "1 2 * * *"}, "Choose one of them"),
        ({"schedule__every": "6h", "settings": ["schedule.timezone=M/B"]}, '"M/B" (--set schedule.timezone) is not'),
        ({"daemon__allowed_hosts": ["http://a.b/c"]}, "daemon.allowed_hosts (--allowed-host): \"http://a.b/c\" is no"),
        ({"settings": ["schedule.enabled=false"]}, "no site in"),
    ],
)  # fmt: skip
def test_ours_settings_that_cannot_be_kept_are_told(tmp_path: Path, flags: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError) as error:
        load_sites(written(tmp_path), flags, [])
    assert told in str(error.value)


def test_ours_a_file_is_named_for_what_stands_in_it_and_not_for_what_was_typed(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        load_sites(written(tmp_path), {"schedule__every": "6q"}, [])
    assert str(error.value).startswith('schedule.every (--every): "6q" is not a duration')
    with pytest.raises(UsageError) as error:
        load_sites(written(tmp_path, 'every = "6q"'), {}, [])
    assert "sites.toml, line 3" in str(error.value)
    for line, told in (('cron = "30 25 * * *"', 'cron "30 25 * * *"'), ('timezone = "Mars"', 'timezone "Mars"')):
        with pytest.raises(UsageError) as error:
            load_sites(written(tmp_path, line), {}, [])
        assert str(error.value).startswith(f"schedule.{told} ({tmp_path / 'sites.toml'}, line 3) ")


def test_ours_one_site_is_taken_out_of_what_all_share(tmp_path: Path) -> None:
    a, b = load_sites(written(tmp_path, more="[sites.b.schedule]\nenabled = false\n"), {}, []).sites
    assert (a.schedule is None, b.schedule is None) == (False, True)


def test_ours_a_site_without_its_secret_does_not_stop_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    faulty = '[sites.b.fetch]\nbasic_auth = "env:NOT_SET"\n'
    assert len(load_sites(written(tmp_path, more=faulty), {}, []).sites) == 2
    assert 'the site "b"' in caplog.text
    assert "NOT_SET" in caplog.text
    with pytest.raises(UsageError, match="NOT_SET"):
        load_sites(tmp_path / "sites.toml", {}, ["b"])


def test_ours_a_reload_names_what_is_used_from_now_on_and_what_only_later(tmp_path: Path) -> None:
    before = load_sites(written(tmp_path), {}, [])
    assert list(config_changes(before, load_sites(written(tmp_path), {}, []))) == []
    now = load_sites(written(tmp_path, daemon="max_parallel_runs = 3\nserve_sitemaps = true\nmax_clients = 9"), {}, [])
    assert list(config_changes(before, now)) == [
        "used from now on: daemon.max_parallel_runs, daemon.serve_sitemaps",
        "used after the next start: daemon.max_clients",
    ]
    (elsewhere,) = config_changes(before, load_sites(written(tmp_path, daemon='directory = "h"'), {}, []))
    assert elsewhere == "used after the next start: daemon.directory"


@pytest.mark.parametrize(
    ("fate", "because", "notify_pending", "told"),
    [
        (RunStatus.FAILED, Trigger.DUE, False, "failed after 2.0 s: it is down; next try in 5 min"),
        (RunStatus.DONE, Trigger.DUE, False, "done after 2.0 s: it is down"),
        (RunStatus.DONE, Trigger.DUE, True, "its notifications are outstanding; next try in 5 min"),
        (RunStatus.DONE, Trigger.NOTIFY, True, "it is down; next try in 5 min"),
    ],
)  # fmt: skip
def test_ours_the_log_says_how_it_ended_and_when_it_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, fate: RunStatus, because: Trigger, notify_pending: bool, told: str
) -> None:
    monkeypatch.setattr("time.time", lambda: 12.0)
    attempt = Attempt(
        number=1, site="a", slot=10.0, trigger=because, try_number=1, began=10.0, ended=12.0, status=fate,
        message="it is down", notify_pending=notify_pending,
    )  # fmt: skip
    assert attempt_text(attempt, 312.0).endswith(told)
    assert "next try" not in attempt_text(attempt)


def test_ours_names_and_serving_are_taken_at_once() -> None:
    settings = [DaemonConfig()]
    board = ScheduleStatus(version="1", now=time.time(), sites=())
    answers = httpx.ASGITransport(build_app(lambda: board, lambda: settings[-1]))

    async def codes() -> list[int]:
        async with httpx.AsyncClient(transport=answers) as client:
            urls = ("http://mine.example/metrics", "http://b.example/published/b/sitemap.xml")
            return [(await client.get(url)).status_code for url in urls]

    assert anyio.run(codes) == [421, 421]
    settings.append(DaemonConfig(allowed_hosts=("mine.example",)))
    assert anyio.run(codes) == [200, 421]
    settings.append(DaemonConfig(serve_sitemaps=True))
    assert anyio.run(codes) == [421, 404]


def test_ours_a_log_tells_of_a_crawl_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    now = [0.0]
    logged = ProgressLogger(lambda: now[0])
    for second, tally in (
        (1, Tally(known=20, done=1)),
        (40, Tally(known=20, done=10)),
        (61, Tally(known=20, done=10)),
        (90, Tally(known=20, done=10)),
        (122, Tally(known=20, done=11)),
    ):
        now[0] = second
        logged.watch(tally)
    assert ["10 to fetch" in caplog.messages[0], "9 to fetch" in caplog.messages[1]] == [True, True]
    assert len(caplog.messages) == 2
