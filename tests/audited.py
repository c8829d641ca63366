"""Owns a small scripted site to be audited, and the command ``siteatlas audit`` in this process."""

import functools
import gc
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import typer.main
from madesite import prose
from run import Ran
from scripted import Answer, Route, links

from crawler.cli import app

FAST = ("--rate", "0", "--set=fetch.retries=0", "--set=parse.processes=1", "--set=fetch.second_reads=0")
CLOSED = "http://127.0.0.1:2/"  # a port that nobody listens to
Command = Callable[..., Ran]


def page(*hrefs: str, head: str = "") -> str:
    """A page that links to these, and says something of its own: two that say the same are one."""
    return links(*hrefs, head=head) + f"<p>{prose(_words, 30)}"


_words = random.Random(1)


@functools.cache
def _declared() -> Any:
    """The commands with their options: reading these from the annotations takes longer than some commands do."""
    return typer.main.get_command(app.app)


@contextmanager
def in_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    """The command in this process: starting one of its own takes ten times as long."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    declared = _declared()
    monkeypatch.setattr(typer.main, "get_command", lambda _: declared)
    threshold = gc.get_threshold()

    def run(*words: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["siteatlas", *words])
        code = app.run_command_line()
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        return Ran(code, told.out, told.err)

    yield run
    gc.unfreeze()  # what a command that owns its process may do
    gc.set_threshold(*threshold)


def robots(*lines: str) -> Answer:
    return Answer("\n".join(["User-agent: *", *lines, ""]), headers={"Content-Type": "text/plain"})


def sitemap(*paths: str) -> Answer:
    entries = "".join(f"<url><loc>{{url}}{path}</loc></url>" for path in paths)
    xml = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
    return Answer(xml, headers={"Content-Type": "application/xml"})


def pages(**changed: Route) -> dict[str, Route]:
    """A home page, a hub with two pages, a page that only the sitemap knows and one that nothing does."""
    routes: dict[str, Route] = {
        "/robots.txt": robots("Disallow: /private/"),
        "/sitemap.xml": sitemap("", "hub/", "hub/one", "hub/two", "plain", "lost"),
        "/": page("/hub/", "/plain"),
        "/hub/": page("/", "/hub/one", "/hub/two"),
        "/hub/one": page("/", "/plain"),
        "/hub/two": page("/", "/hub/one"),
        "/plain": page("/"),
        "/lost": page("/"),
        "/asked": page("/"),
    }
    return {**routes, **{f"/{path}": route for path, route in changed.items()}}


def line(path: str, status: int = 200, day: int = 3, who: int = 1, agent: str = "Mozilla/5.0 Firefox/128.0") -> str:
    """A line of a log in the combined format."""
    when = f"{day:02}/Nov/2026:10:00:00 +0000"
    return f'192.0.2.{who} - - [{when}] "GET {path} HTTP/1.1" {status} 512 "-" "{agent}"\n'


def log(*paths: str, status: int = 200) -> str:
    """Some visits of each path by some people."""
    return "".join(line(path, status, day, who) for path in paths for day in (3, 4) for who in range(1, 6))
