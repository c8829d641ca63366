"""Names that were renamed: the old ones go on working, hidden, with one line of warning."""

import logging
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path

import pytest
from run import Ran, siteatlas
from typer.main import get_command

from crawler.cli.app import app
from crawler.cli.init.config import example_config
from crawler.config.deprecated import FLAGS as OLD_FLAGS
from crawler.config.deprecated import KEYS as OLD_KEYS
from crawler.config.load import configured, known_keys, read_tables

URL = "http://a.example/"
FILE = '[site]\nurl = "http://a.example/"\n[output]\ndirectory = "out"\n[fetch]\nsource = "site"\n'
COMMANDS = get_command(app).commands  # type: ignore[attr-defined]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("<title>Home</title>")
    return tmp_path


def crawl(folder: Path, *words: str, **extra: str) -> Ran:
    return siteatlas(folder, "crawl", URL, "-o", "out", "--source", "site", "--dry-run", "-q", *words, **extra)


def test_ours_every_deprecated_name_leads_to_one_that_is_there() -> None:
    flags = {name for command in COMMANDS.values() for p in command.params for name in (*p.opts, *p.secondary_opts)}
    keys = {f"{section}.{key}" for section, names in known_keys().items() for key in names}
    assert set(OLD_FLAGS.values()) <= flags
    assert not OLD_FLAGS.keys() & flags
    assert set(OLD_KEYS.values()) <= keys
    assert not OLD_KEYS.keys() & keys
    assert all(old.split(".")[0] == new.split(".")[0] for old, new in OLD_KEYS.items())
    for names in (OLD_FLAGS, OLD_KEYS):
        assert len(set(names.values())) == len(names)


def test_ours_no_help_and_no_example_shows_a_deprecated_name() -> None:
    for name, command in COMMANDS.items():
        words = command.get_help(command.make_context(name, [], resilient_parsing=True)).split()
        assert not OLD_FLAGS.keys() & set(words), name
    tables = tomllib.loads(example_config())
    assert not OLD_KEYS.keys() & {f"{section}.{key}" for section, table in tables.items() for key in table}


@pytest.mark.parametrize("words", [("--longest-trouble", "1"), ("--longest-trouble=1",)])
def test_ours_an_old_flag_works_with_one_line_of_warning(folder: Path, words: tuple[str, ...]) -> None:
    ended = crawl(folder, *words)
    assert (ended.code, ended.err) == (0, "siteatlas: --longest-trouble is deprecated: use --max-error-time\n")
    assert "siteatlas: --max-error-time (pace.max_error_time): " in crawl(folder, "--longest-trouble", "x").err


def test_ours_an_old_switch_works_also_in_its_negative(folder: Path) -> None:
    (folder / "s.toml").write_text(f'{FILE}[schedule]\nevery = "1h"\n')
    words = ("schedule", "--config", "s.toml", "--listen", "", "--not-scheduled")
    warning, refusal = siteatlas(folder, *words).err.splitlines()
    assert warning == "siteatlas: --not-scheduled is deprecated: use --no-schedule"
    assert "no site in s.toml" in refusal
    both = siteatlas(folder, *words, "--schedule")
    assert (both.code, len(both.err.splitlines())) == (2, 1)


def test_ours_what_only_looks_like_an_old_flag_is_left_alone(folder: Path) -> None:
    assert crawl(folder, "--user-agent", "--grace").err == ""
    assert "No such option: --again" in crawl(folder, "--again").err  # it was an option of notify only
    assert "Got unexpected extra argument" in crawl(folder, "--", "--grace").err


def test_ours_an_old_variable_works_with_one_line_of_warning(folder: Path) -> None:
    ended = crawl(folder, SITEATLAS_LONGEST_TROUBLE="1")
    assert (ended.code, len(ended.err.splitlines())) == (0, 1)
    assert "SITEATLAS_LONGEST_TROUBLE is deprecated: use SITEATLAS_MAX_ERROR_TIME" in ended.err
    wrong = crawl(folder, SITEATLAS_LONGEST_TROUBLE="x")
    assert wrong.code == 2
    assert 'siteatlas: SITEATLAS_LONGEST_TROUBLE (pace.max_error_time): "x" is not a duration' in wrong.err


def test_ours_an_old_key_works_with_one_line_of_warning(folder: Path) -> None:
    (folder / "s.toml").write_text(f"{FILE}[pace]\nlongest_trouble = 1\n")
    words = ("run", "--config", "s.toml", "--dry-run", "-q")
    ended = siteatlas(folder, *words)
    assert (ended.code, len(ended.err.splitlines())) == (0, 1)
    assert "pace.longest_trouble in s.toml is deprecated: use pace.max_error_time" in ended.err
    made = siteatlas(folder, "init", "--config", "s.toml", "--kubernetes", "--print")
    assert (made.code, made.err) == (0, ended.err)  # it reads the file more than once


def test_ours_an_old_key_of_one_of_several_sites_is_named_with_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "sites.toml"
    file.write_text("[pace]\nmax_error_time = 1\n[sites.shop.pace]\nlongest_trouble = 2\n")
    with caplog.at_level(logging.WARNING):
        assert read_tables(file)["sites"]["shop"]["pace"] == {"max_error_time": 2}
        read_tables(file)
    assert caplog.messages == [
        f"sites.shop.pace.longest_trouble in {file} is deprecated: use sites.shop.pace.max_error_time"
    ]
    assert configured(pace={"longest_pause": "2m"}).pace.max_retry_after == 120


@pytest.mark.parametrize(
    ("words", "extra", "error"),
    [
        (
            ("--longest-trouble", "1", "--max-error-time", "1"),
            {},
            "--longest-trouble is the old name of --max-error-time: use only --max-error-time",
        ),
        (
            (),
            {"SITEATLAS_GRACE": "1", "SITEATLAS_GRACE_PERIOD": "1"},
            "SITEATLAS_GRACE is the old name of SITEATLAS_GRACE_PERIOD: use only SITEATLAS_GRACE_PERIOD",
        ),
        (
            ("--config", "s.toml"),
            {},
            "pace.longest_trouble in s.toml is the old name of pace.max_error_time: use only pace.max_error_time",
        ),
    ],
)
def test_ours_old_and_new_name_at_once_are_a_usage_error(
    folder: Path, words: tuple[str, ...], extra: dict[str, str], error: str
) -> None:
    (folder / "s.toml").write_text("[pace]\nlongest_trouble = 1\nmax_error_time = 1\n")
    ended = crawl(folder, *words, **extra)
    assert ended.code == 2
    assert [line for line in ended.err.splitlines() if "deprecated" not in line] == [f"siteatlas: {error}"]


def test_ours_a_shell_completes_no_old_flag(folder: Path) -> None:
    about = {"COMP_WORDS": "siteatlas schedule --look", "COMP_CWORD": "2"}
    assert siteatlas(folder, anew=True, _SITEATLAS_COMPLETE="complete_bash", **about).out.strip() == ""


def test_ours_a_crawl_that_an_older_version_began_goes_on(folder: Path) -> None:
    (folder / "site" / "index.html").write_text("<title>Home</title><a href=/b.html>b</a>")
    (folder / "site" / "b.html").write_text("<title>B</title>")
    words = ("crawl", URL, "-o", "out", "--source", "site", "-q")
    assert siteatlas(folder, *words, "--max-pages", "1").code == 4
    (state,) = (folder / ".siteatlas").glob("*/state.db")
    with closing(sqlite3.connect(state)) as db, db:
        stored = "UPDATE about SET value = replace(value, 'scope.trap_limit', 'scope.max_fruitless')"
        assert db.execute(f"{stored} WHERE key = 'settings'").rowcount == 1
    refused = siteatlas(folder, *words, "--trap-limit", "3")
    assert (refused.code, "other settings (scope.trap_limit)" in refused.err) == (2, True)
    assert "scope.trap_limit" not in siteatlas(folder, "why", URL).err
    assert siteatlas(folder, *words).code == 0
