"""A double of Google, and the audit of a site of its property."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from audited import FAST, Command, in_process, page
from doubles_console import EMAIL
from doubles_inspector import Inspector
from doubles_listener import listening
from scripted import Site, scripted


@pytest.fixture
def google() -> Iterator[Inspector]:
    with listening() as listener:
        double = Inspector(listener.url)
        listener.answer = double.answer
        yield double


@pytest.fixture
def site(google: Inspector) -> Iterator[Site]:
    with scripted(
        {"/": page("/a", "/b"), "/a": page("/"), "/b": page("/"), "/lost": page("/"), "/old": page("/")}
    ) as own:
        listed = "".join(f"<url><loc>{own.url}{path}</loc></url>" for path in ("", "a", "b", "old"))
        own.routes["/sitemap.xml"] = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>'
        google.property_id = own.url
        google.owners = {(own.url, EMAIL)}
        google.impressions = {f"{own.url}lost": 9, f"{own.url}a": 5}
        yield own


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    with in_process(tmp_path, monkeypatch, capsys) as run:
        yield run


@pytest.fixture
def audit(google: Inspector, site: Site, tmp_path: Path, command: Command) -> Callable[..., dict[str, Any]]:
    (tmp_path / "account.json").write_text(google.account())
    (tmp_path / "site.toml").write_text(
        f'[site]\nurl = "{site.url}"\n[search_console]\nendpoint = "{google.endpoint}"\n'
        f'[audit]\nsearch_console = "{site.url}"\ngoogle_credentials = "account.json"\n'
        f'inspection_endpoint = "{google.url}/v1"\n'
    )

    def audited(*words: str) -> dict[str, Any]:
        ran = command("audit", "--config", "site.toml", "--format", "json", *FAST, *words)
        assert ran.code in (0, 10), ran.err
        report: dict[str, Any] = json.loads(ran.out)
        return report

    return audited
