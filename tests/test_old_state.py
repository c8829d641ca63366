"""A state that an earlier version left opens in this one: nothing is lost, and what programs read keeps its fields."""

import json
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import run

FIXTURE = Path(__file__).parent / "fixtures" / "state_0_1_0"
HOME = "http://127.0.0.1:18765/"


class _Handler(SimpleHTTPRequestHandler):
    """Serves the pages of the fixture, and takes the messages of its webhook."""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Path]:
    """A copy of the fixture, while its site is served."""
    shutil.copytree(FIXTURE, tmp_path / "work")
    server = ThreadingHTTPServer(("127.0.0.1", 18765), partial(_Handler, directory=str(tmp_path / "work" / "www")))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield tmp_path / "work"
    server.shutdown()
    thread.join()
    server.server_close()


def siteatlas(work: Path, *arguments: str, code: int = 0) -> tuple[str, list[str]]:
    ran = run.siteatlas(work, *arguments, timeout=90)
    assert ran.code == code, ran.out + ran.err
    return ran.out, ran.err.splitlines()


def paths(value: Any, above: str = "") -> Iterator[str]:
    """The keys of a JSON document, with the keys above them; lists count as one place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{above}.{key}"
            yield from paths(inner, f"{above}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, f"{above}[]")


def old(name: str) -> Any:
    return json.loads((FIXTURE / name).read_text(encoding="utf-8"))


# One test, since the state names the port of its site.
def test_ours_a_state_of_the_version_before_the_new_layout_opens(work: Path) -> None:
    text, _ = siteatlas(work, "status", "--config", "schedule.toml", "--json")
    status = json.loads(text)
    assert set(paths(old("status.json"))) - set(paths(status)) == set()
    (before,), (now,) = old("status.json")["sites"], status["sites"]
    assert {key: now["published"][key] for key in before["published"]} == before["published"]
    assert now["sitemap_url"] == before["sitemap_url"]
    assert [{key: run[key] for key in old} for run, old in zip(now["runs"], before["runs"], strict=True)] == before[
        "runs"
    ]
    assert now["schedule"]["attempts"] == before["schedule"]["attempts"]

    text, _ = siteatlas(work, "why", f"{HOME}news/2.html", "--config", "site.toml", "--json")
    assert set(paths(old("why.json"))) - set(paths(json.loads(text))) == set()

    text, _ = siteatlas(work, "diff", "--config", "site.toml", "1", "2", "--format", "json")
    changes = {(change["url"], change["kind"], change["at"]) for change in json.loads(text)["changes"]}
    assert {(change["url"], change["kind"], change["at"]) for change in old("diff.json")["changes"]} == changes

    published = (work / "public" / "sitemap.xml").read_bytes()
    text, warnings = siteatlas(work, "run", "--config", "site.toml", "--json")
    assert json.loads(text)["sites"][0]["outcome"] == "unchanged"
    assert warnings == []
    assert (work / "public" / "sitemap.xml").read_bytes() == published

    text, _ = siteatlas(work, "audit", "--config", "site.toml", "--list", "urls.txt", "--format", "json")
    audit = json.loads(text)
    assert set(paths(old("audit.json"))) - set(paths(audit)) == set()
    found = {(finding["rule"], finding["url"], finding["is_new"]) for finding in audit["findings"]}
    assert found == {(finding["rule"], finding["url"], finding["is_new"]) for finding in old("audit.json")["findings"]}

    text, _ = siteatlas(work, "crawl", HOME, "-o", "cut", "--state", "unfinished", "--trap-limit", "500", "--json")
    report = json.loads(text)
    assert report["run"] == 1
    assert (work / "cut" / "sitemap.xml").read_text().count("<loc>") == 8
