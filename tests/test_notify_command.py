"""``siteatlas notify`` as a person runs it: the real command, a site and a service on the loopback address."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doubles_indexnow import KEY, Double, Say, Site, memory
from run import siteatlas
from typer.main import get_command

from crawler.cli import app

BUILT = get_command(app.app)  # once: the command line is wide


@pytest.fixture
def site() -> Iterator[Site]:
    with memory() as folder, Double() as double:
        yield Site(double, folder)


def test_ours_pages_of_a_build_are_not_told_before_the_deploy_although_the_sitemap_stays(
    site: Site, tmp_path: Path
) -> None:
    site.settings |= {"indexnow__key": KEY, "fetch__source": "build", "content__lastmod": "page"}
    assert "postponed: pages changed, but the sitemap did not" in _builds(site, tmp_path, "old", "new")[1]
    assert not site.double.messages
    assert siteatlas(tmp_path, "notify", "--config", "sites.toml").code == 0
    assert site.double.taken == {site.url("/"): 1}


def test_ours_what_waits_for_a_deploy_of_the_sitemap_is_told_by_a_later_run(site: Site, tmp_path: Path) -> None:
    site.settings |= {"indexnow__key": KEY, "fetch__source": "build"}
    new = "new <a href='/a'>page</a>"
    assert "postponed: the sitemap at" in _builds(site, tmp_path, "old", new)[1]
    assert not site.double.messages
    _builds(site, tmp_path, new)
    assert site.double.taken == {site.url("/a"): 1, site.url("/"): 1}


def _builds(site: Site, folder: Path, *texts: str) -> list[str]:
    """What runs of a source say, of which each is deployed after it."""
    tables = site.tables(output__directory="build", notify__attempts=1, state__directory="built")
    (folder / "sites.toml").write_text("".join(_toml(tables)))
    build, said = folder / "build", []
    build.mkdir(exist_ok=True)
    (build / "a.html").write_text("<title>A</title><main><p>Another text</p></main>")
    for text in texts:
        (build / "index.html").write_text(f"<title>Home</title><main><p>The {text} text</p></main>")
        said.append(siteatlas(folder, "run", "--config", "sites.toml").out)
        site.double.files["/sitemap.xml"] = (build / "sitemap.xml").read_bytes()
    return said


def _host(site: Site) -> str:
    return site.double.home.partition("://")[2]


class Command:
    """Runs the command in this process, as ``siteatlas`` does."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        self.file = file

    def write(self, *sites: Site, **settings: Any) -> None:
        """The configuration file of one site, or of several, which are called a, b …"""
        told = [each.tables(**settings) for each in sites]
        named = {"sites": dict(zip("ab", told, strict=False))} if len(told) > 1 else told[0]
        self.file.write_text("".join(_toml(named)))

    def __call__(self, *words: str) -> tuple[int, str, str]:
        self._monkeypatch.setattr(sys, "argv", ["siteatlas", "notify", *words])
        self._monkeypatch.setattr(app, "app", BUILT)
        code = app.run_command_line()
        said = self._capsys.readouterr()
        assert "Traceback" not in said.err
        assert KEY not in said.out + said.err
        return code, said.out, said.err


def _toml(tables: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[str]:
    plain = {name: value for name, value in tables.items() if not isinstance(value, dict)}
    if plain:
        yield f"[{'.'.join(path)}]\n"
        yield from (f"{name} = {json.dumps(value)}\n" for name, value in plain.items())
    for name, value in tables.items():
        if isinstance(value, dict):
            yield from _toml(value, (*path, name))


@pytest.fixture
def notify(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, site: Site) -> Command:
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.setenv("INDEXNOW", KEY)
    command = Command(capsys, monkeypatch, tmp_path / "sites.toml")
    command.write(site, indexnow__key="env:INDEXNOW")
    return command


def test_ours_what_is_outstanding_is_shown_then_told_and_then_there_is_none(site: Site, notify: Command) -> None:
    site.run(["/"])
    note = "indexnow: changes are sent from now on, but not the pages so far (indexnow.first_run)"
    assert notify("--config", str(notify.file))[:2] == (0, f"  {note}\n")
    site.run(["/", *(f"/{n}" for n in range(7))])
    code, out, _ = notify("--config", str(notify.file), "--dry-run")
    assert code == 0
    assert (
        f"indexnow: would send: 7 URLs, run 1 to run 2: a dry run sends nothing; the key file of {_host(site)} exists"
        in out
    )
    assert f"    {site.url('/4')}\n    … 2 more (-v shows all)" in out
    assert not site.double.messages
    assert site.url("/6") in notify("--config", str(notify.file), "--dry-run", "-v")[1]
    assert notify("--config", str(notify.file))[0] == 0
    assert site.double.taken == {site.url(f"/{n}"): 1 for n in range(7)}
    assert notify("--config", str(notify.file))[:2] == (0, "  nothing to send: indexnow\n")


def test_ours_the_same_as_json(site: Site, notify: Command) -> None:
    site.run(["/"])
    notify("--config", str(notify.file))
    site.run(["/", "/a"])
    code, out, _ = notify("--config", str(notify.file), "--dry-run", "--json")
    (told,) = json.loads(out)["sites"]
    assert code == json.loads(out)["exit_code"] == 0
    assert (told["name"], told["notify_pending"], told["channels"]) == ("127.0.0.1", False, ["indexnow"])
    assert told["deliveries"][0]["shown"] == [site.url("/a")]


def test_ours_what_could_not_be_delivered_is_exit_code_4(site: Site, notify: Command) -> None:
    site.run(["/"])
    notify("--config", str(notify.file))
    site.run(["/", "/a"])
    site.double.files[f"/{KEY}.txt"] = 404
    code, out, err = notify("--config", str(notify.file), "-q")
    assert (code, out) == (4, "")
    assert "whose whole content is KEY, where KEY stands for the key that env:INDEXNOW holds" in err
    site.double.files[f"/{KEY}.txt"] = KEY.encode()
    site.double.says.append(Say(422))
    code, out, _ = notify("--config", str(notify.file))
    assert code == 4  # refused: a person must look
    assert "indexnow: refused: 1 URL, run 1 to run 2 of " in out
    assert out.endswith("; --resend-refused sends it again\n")
    code, out, _ = notify("--config", str(notify.file))
    assert code == 0
    assert out.startswith("  indexnow: the receiver refused 1 URL of ")
    assert ": IndexNow answered 422" in out
    assert out.endswith("; --resend-refused sends it again\n")
    assert notify("--config", str(notify.file), "--resend-refused")[0] == 0
    assert site.double.taken == {site.url("/a"): 1}
    assert notify("--config", str(notify.file), "--since", "0")[0] == 0
    assert site.double.taken == {site.url("/a"): 2, site.url("/"): 1}


def test_ours_one_site_by_its_url(site: Site, notify: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    site.run(["/"])
    words = [f"{site.double.home}/", "-o", str(site.plan.output), "--state", str(site.folder / "state")]
    words += ["--set=indexnow.key=env:INDEXNOW", f"--set=indexnow.endpoint={site.double.home}/indexnow"]
    assert notify(*words)[0] == 0
    site.run(["/", "/a"])
    assert notify(*words)[0] == 0
    assert site.double.taken == {site.url("/a"): 1}


def test_ours_all_sites_of_a_configuration(site: Site, notify: Command, tmp_path: Path) -> None:
    with Double() as double:
        folder = tmp_path / "other"
        folder.mkdir()
        other = Site(double, folder)
        notify.write(site, other, indexnow__key="env:INDEXNOW")
        for each in (site, other):
            each.run(["/"])
        notify("--config", str(notify.file))
        for each in (site, other):
            each.run(["/", "/a"])
        code, out, _ = notify("--config", str(notify.file), "--site", "b")
        assert (code, out.count("accepted: ")) == (0, 1)
        assert not site.double.messages
        code, out, _ = notify("--config", str(notify.file))
        assert "== a ==" in out
        assert "== b ==" in out
        assert [len(each.double.messages) for each in (site, other)] == [1, 1]


def test_ours_a_test_message_is_for_those_who_are_the_sites_own(site: Site, notify: Command) -> None:
    notify.write(site, indexnow__key="env:INDEXNOW", webhook__urls=[f"{site.double.home}/hook"], hook__command=["cat"])
    code, out, _ = notify("--config", str(notify.file), "--test")
    assert code == 0
    assert (
        f"indexnow: accepted: test: the key file of {_host(site)} exists and is correct (the key alone is checked)\n"
        in out
    )
    (message,) = site.double.messages
    assert (message["occasion"], message["sentence"]) == ("test", "this is a test message: no event occurred")
    assert site.double.heads[0]["x-siteatlas-event"] == "test"
    site.double.files[f"/{KEY}.txt"] = 404
    code, out, _ = notify("--config", str(notify.file), "--test", "--only", "indexnow")
    assert (code, out.count("\n")) == (4, 1)
    assert out.startswith("  indexnow: failed: the key file of ")
    code, out, _ = notify("--config", str(notify.file), "--test", "--only", "hook")
    assert (code, out.count("\n")) == (0, 1)
    assert len(site.double.messages) == 1


def test_ours_a_dry_run_says_what_would_hold_it_back_once(site: Site, notify: Command) -> None:
    hooks = [f"{site.double.home}/hook", f"{site.double.home}/other"]
    notify.write(site, indexnow__key="env:INDEXNOW", webhook__urls=hooks)
    site.run(["/"])
    notify("--config", str(notify.file))
    site.run(["/", "/a"])
    site.double.files["/sitemap.xml"] = b"an older one"
    site.double.files[f"/{KEY}.txt"] = 404
    code, out, _ = notify("--config", str(notify.file), "--dry-run")
    assert code == 0
    assert out.count("is not yet the published version") == 1
    assert "at the moment, Siteatlas would postpone all messages: the sitemap at" in out
    assert "a dry run sends nothing; for now it would be postponed: the key file of" in out
    assert out.count("would send: 1 URL, run 1 to run 2") == 3
    code, out, _ = notify("--config", str(notify.file))
    assert code == 4
    assert out.count("\n") == out.count("is not yet the published version") == 1
    assert out.startswith("  indexnow, webhook ")
    assert not site.double.messages


def test_ours_who_may_not_use_the_state_is_told_so_with_exit_code_7(site: Site, notify: Command) -> None:
    site.run(["/"])
    (site.plan.state / "notify.db").mkdir()
    code, _, _ = notify("--config", str(notify.file))
    assert code == 7


def test_ours_a_run_that_never_was_and_telling_that_is_turned_off_are_named(site: Site, notify: Command) -> None:
    site.run(["/"])
    code, out, err = notify("--config", str(notify.file), "--since", "500")
    assert (code, out) == (2, "")
    assert "run 500 (--since) does not exist. The last run is run 1" in err
    notify.write(site, indexnow__key="env:INDEXNOW", notify__enabled=False)
    code, out, err = notify("--config", str(notify.file))
    assert (code, out) == (2, "")
    assert "notifications are off (enabled = false in [notify]): add --notify to send them" in err
    assert notify("--config", str(notify.file), "--notify")[0] == 0


@pytest.mark.parametrize(
    ("settings", "words", "said"),
    [
        ({}, [], "no site is given. Use siteatlas notify URL -o DIR, or siteatlas notify --config FILE"),
        ({"indexnow__key": ""}, ["--config"], "no channel is configured: set key in [indexnow]"),
        ({"indexnow__key": "env:NOT_SET"}, ["--config"], "the environment variable NOT_SET is not set"),
        ({"indexnow__key": "short"}, ["--config"], "8 to 128 letters, digits and dashes"),
        (
            {"webhook__urls": ["env:EMPTY"]},
            ["--config"],
            "the secret env:EMPTY, to which webhook.urls refers, is empty",
        ),
        ({"webhook__urls": ["nonsense"]}, ["--config"], "an entry of webhook.urls is not an http(s) URL"),
        ({"indexnow__key": "", "indexnow__key_url": "https://a.example/k.txt"}, ["--config"], "indexnow.key is"),
        ({}, ["--test", "--resend-refused", "--config"], "Use --test alone"),
        ({}, ["--only", "email", "--config"], "--only email does not match a channel. Choose one of indexnow"),
    ],
)
def test_ours_what_is_wrong_is_told_in_one_line(
    site: Site, notify: Command, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], words: list[str], said: str
) -> None:
    monkeypatch.setenv("EMPTY", "")
    notify.write(site, **{"indexnow__key": "env:INDEXNOW", **settings})
    code, out, err = notify(*words, *([str(notify.file)] if words else []))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_ours_a_secret_is_not_on_the_command_line_of_a_process_nor_in_what_it_says(site: Site, notify: Command) -> None:
    site.run(["/"])
    notify("--config", str(notify.file))
    site.run(["/", "/a"])
    run = subprocess.run(
        [sys.executable, "-m", "crawler", "notify", "--config", str(notify.file), "-v"],
        env={**os.environ, "INDEXNOW": KEY},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert site.double.taken == {site.url("/a"): 1}
    assert KEY not in run.stdout + run.stderr + notify.file.read_text()
