"""Plug-ins of a package of its own: each kind works in an audit, a run, the daemon and a fleet, and may fail."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from audited import FAST, Command, in_process, page, pages, sitemap
from example_plugins import EXAMPLE, install_example
from scripted import Site, scripted

from crawler.config.load import ConfigFile, load_site
from crawler.errors import UsageError
from crawler.plugins import PluginKind, load_plugins

SECRET = "a-token-0123456789"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    place = install_example(tmp_path / "packages")
    monkeypatch.syspath_prepend(str(place))
    yield place
    for name in [name for name in sys.modules if name.startswith("siteatlas_example")]:
        del sys.modules[name]


@pytest.fixture
def siteatlas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    with in_process(tmp_path, monkeypatch, capsys) as command:
        yield command


TABLES = """
[plugins.products]
use = "shop"
database = "shop.db"
[plugins.spool]
use = "spool"
folder = "spool"
token = "file:token"
[plugins.mirror]
use = "folder"
folder = "mirror"
[plugins.titles]
use = "repeated-words"
"""


USES = """
upload.to = "plugin:mirror"
content.lastmod = "plugin"
[audit.rules.words]
plugin = "titles"
text = "A word is repeated."
"""


def configure(site: Site, tables: str = TABLES, uses: str = USES) -> None:
    """A configuration with all plug-ins, and what they read and write."""
    for folder in ("spool", "mirror"):
        Path(folder).mkdir(exist_ok=True)
    Path("token").write_text(SECRET)
    if not Path("shop.db").exists():
        with closing(sqlite3.connect("shop.db")) as db:
            db.execute("CREATE TABLE product (path TEXT, visits INTEGER, day TEXT, edited TEXT)")
            rows = [("/asked", 7, "2026-11-20", ""), ("/plain", 1, "2026-11-21", "2025-03-04T05:06:07Z")]
            db.executemany("INSERT INTO product VALUES (?, ?, ?, ?)", rows)
            db.commit()
    Path("site.toml").write_text(
        f'site.url = "{site.url}"\nstate.directory = "state"\naudit.report = "report"\nrender.mode = "never"\n'
        'output.directory = "out"\noutput.swap_delay = 0\nnotify.check_live = false\nnotify.attempts = 1\n'
        'schedule.every = "1d"\nfetch.second_reads = 0\npace.rate = 0\nfetch.retries = 0\naudit.every = "1s"'
        f"{uses}{tables}"
    )


def routes() -> dict[str, Any]:
    doubled = "<title>Boats boats again: boats</title>" + page("/")
    return pages(plain=doubled, **{"sitemap.xml": sitemap("", "hub/", "plain")})


def report() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(Path("report/audit.json").read_bytes())
    return read


def findings(rule: str) -> list[tuple[str, list[str]]]:
    found = [each for each in report()["findings"] if each["rule"] == rule]
    return [("/" + each["url"].split("/", 3)[-1], each["evidence"]) for each in found]


def messages() -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in Path("spool").iterdir()]


def check_all() -> None:
    """Each plug-in did its part."""
    assert "<lastmod>2025-03-04T05:06:07+00:00</lastmod>" in Path("out/sitemap.xml").read_text()
    assert Path("mirror/sitemap.xml").read_bytes() == Path("out/sitemap.xml").read_bytes()
    occasions = {message["occasion"]: message for message in messages()}
    assert "changes" in occasions
    assert occasions["changes"]["token"] == SECRET
    assert "/asked" in {url for url, _ in findings("orphan.search")}
    assert [(url, said) for url, said in findings("own.words")] == [("/plain", ["word: boats, times: 3"])]


@pytest.mark.thorough
@pytest.mark.usefixtures("installed")
def test_ours_plugins_of_every_kind_work_in_a_run_and_its_audit(siteatlas: Command) -> None:
    with scripted(routes()) as site:
        configure(site)
        ended = siteatlas("run", "--config", "site.toml")
        assert ended.code == 0, ended
        check_all()
        (source,) = [each for each in report()["inputs"] if each["name"] == "plug-in products"]
        assert (source["rows"], source["used"], source["complete"]) == (2, 2, True)
        assert SECRET not in ended.out + ended.err
        site.routes["/new"] = page("/")
        site.routes["/"] = page("/hub/", "/plain", "/new")
        again = siteatlas("run", "--config", "site.toml")
        assert again.code == 0, again
    assert "/new" in Path("mirror/sitemap.xml").read_text()
    assert [message["counts"]["added"] for message in messages() if message["runs"]["after"]] != []


@pytest.mark.usefixtures("installed")
@pytest.mark.thorough
def test_ours_plugins_that_fail_lose_nothing_and_are_named(siteatlas: Command) -> None:
    with scripted(routes()) as site:
        configure(site)
        shutil.rmtree("spool")
        with closing(sqlite3.connect("shop.db")) as db:
            db.execute("DROP TABLE product")
        failed = siteatlas("run", "--config", "site.toml")
        assert (
            "the plug-in products failed: OperationalError: no such table: product, so it dates no page" in failed.out
        )
        assert "the plug-in spool failed: FileNotFoundError" in failed.out + failed.err
        assert "plain" in Path("mirror/sitemap.xml").read_text()
        (source,) = [each for each in report()["inputs"] if each["name"] == "plug-in products"]
        assert source["faults"] == ["the plug-in products failed: OperationalError: no such table: product"]
        Path("spool").mkdir()
        siteatlas("run", "--config", "site.toml")
        assert {message["occasion"] for message in messages()} >= {"changes"}, "what failed is sent in the next run"
        shutil.rmtree("mirror")
        again = siteatlas("run", "--config", "site.toml")
        assert again.code == 7
        assert "plugin:mirror: the plug-in mirror failed: FileNotFoundError" in again.out + again.err


@pytest.mark.usefixtures("installed")
def test_ours_a_source_that_gives_nonsense_is_named(siteatlas: Command, installed: Path) -> None:
    module = installed / "siteatlas_example" / "source.py"
    text = module.read_text()
    with scripted(routes()) as site:
        configure(site, uses="\n")
        with closing(sqlite3.connect("shop.db")) as db:
            db.execute("INSERT INTO product VALUES ('/hub/', 'many', '', '')")
            db.commit()
        siteatlas("audit", "--config", "site.toml")
        module.write_text(text.replace('kind = "analytics"', 'kind = "tea leaves"'))
        sys.modules.pop("siteatlas_example.source")
        refused = siteatlas("audit", "--config", "site.toml")
    (source,) = [each for each in report()["inputs"] if each["name"] == "plug-in products"]
    assert (source["used"], source["complete"]) == (2, False)
    assert source["faults"] == [
        "the plug-in products failed: ValidationError: Expected `int`, got `str` - at `$.people`"
    ]
    assert refused.code == 2
    assert "says that it is a source of the kind 'tea leaves', not search, analytics, backlinks" in refused.err


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ('[plugins.a]\nuse = "nothing"', "plugins.a.use: no installed package has a plug-in 'nothing'. The installed"),
        ('[plugins.a]\nuser = "x"', "plugins.a.use: no installed package has a plug-in ''. The installed plug-ins are"),
        ('[plugins.a]\nuse = "spool"', "plugins.a: the plug-in spool cannot be used: KeyError: 'folder'"),
        ('[plugins.a]\nuse = "shop"\ndatabase = "env:GONE"', "the environment variable GONE is not set"),
        ("[plugins]\na = 1", "plugins.a (site.toml, line 15): it must be a table"),
    ],
)
@pytest.mark.usefixtures("installed")
def test_ours_a_plugin_that_cannot_be_loaded_is_one_line_before_the_first_request(
    siteatlas: Command, tables: str, said: str
) -> None:
    with scripted(routes()) as site:
        configure(site, tables, "\n")
        ended = siteatlas("run", "--config", "site.toml")
        assert not site.log
    assert ended.code == 2
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1


def test_ours_a_setting_names_a_plugin_that_no_table_has(siteatlas: Command) -> None:
    with scripted(routes()) as site:
        configure(site, "")
        run = siteatlas("run", "--config", "site.toml")
        audit = siteatlas("audit", "--config", "site.toml", *FAST)
    assert (run.code, audit.code) == (2, 2)
    assert "upload.to names the plug-in mirror, but no table [plugins.mirror] has a plug-in for it (upload)" in run.err
    assert "audit.rules.words.plugin names the plug-in titles, but no table [plugins.titles]" in audit.err


@pytest.mark.usefixtures("installed")
def test_ours_a_plugin_that_no_table_names_is_not_imported_and_an_error_shows_no_secret(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(SECRET)
    base = 'site = {url = "https://a.example/"}\n'
    config = load_site(ConfigFile(tmp_path / "site.toml", f'{base}[plugins.t]\nuse = "repeated-words"\n'))
    assert [plugin.name for plugin in load_plugins(config, PluginKind.RULE)] == ["t"]
    assert load_plugins(config, PluginKind.CHANNEL) == []
    assert "siteatlas_example.channel" not in sys.modules
    bad = f'{base}[plugins.t]\nuse = "repeated-words"\ntimes = "file:token"\n'
    with pytest.raises(UsageError, match="ValueError") as told:
        load_plugins(load_site(ConfigFile(tmp_path / "site.toml", bad)), PluginKind.RULE)
    assert SECRET not in str(told.value)
    assert "***" in str(told.value)


def test_ours_the_manual_has_the_examples_as_they_are() -> None:
    manual = (EXAMPLE.parents[1] / "plugins.md").read_text(encoding="utf-8")
    for file in (EXAMPLE / "siteatlas_example").glob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert file.name == "__init__.py" or text.rstrip("\n") in manual, file.name
        assert len(text.splitlines()) <= 35
    assert (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8").rstrip("\n") in manual


@pytest.mark.thorough
def test_ours_the_example_is_installed_by_pip_and_works_in_the_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(EXAMPLE, tmp_path / "example")
    options = ("--no-deps", "--quiet", "--target", "packages")
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "./example"], check=True, cwd=tmp_path)
    with scripted(routes()) as site:
        configure(site)
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / "packages")}
        words = [sys.executable, "-m", "crawler", "schedule", "--config", "site.toml", "--set", "daemon.listen="]
        with subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL) as daemon:
            try:
                end = time.monotonic() + 60
                while not (Path("report/audit.junit.xml").exists() and messages()):
                    assert time.monotonic() < end
                    time.sleep(0.1)
            finally:
                daemon.terminate()
    check_all()
