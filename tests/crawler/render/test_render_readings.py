"""``siteatlas why --render``: both readings of one page."""

import json
import os
from pathlib import Path

import browsing
import pytest
from run import FAST, Ran, siteatlas
from scripted import Answer, Route, scripted

pytestmark = [pytest.mark.thorough, pytest.mark.needs_chromium]

SCRIPT = """
document.title = "Drawn";
document.querySelector("main").innerHTML = "<a href='/two'>two</a><img src='/p.png'>";
document.head.append(Object.assign(document.createElement("link"), { rel: "canonical", href: "/" }));
"""
ROUTES: dict[str, Route] = {
    "/": f"<title>Sent</title><main></main><script>{SCRIPT}</script>",
    "/two": "<title>Two</title><p>nothing to draw",
    "/robots.txt": Answer("User-agent: *\nDisallow: /secret\n", headers={"Content-Type": "text/plain"}),
}


def why(folder: Path, *words: str) -> Ran:
    browsing.binary()  # skips without one
    sandbox = ("--set=render.sandbox=false",) if os.geteuid() == 0 else ()
    return siteatlas(folder, "why", *words, "--render", *sandbox, timeout=110)


def test_ours_why_shows_both_readings_and_leaves_the_state_alone(tmp_path: Path) -> None:
    with scripted(dict(ROUTES)) as site:
        siteatlas(tmp_path, "crawl", site.url, "-o", "out", *FAST, "--render", "never")
        (state,) = tmp_path.glob(".siteatlas/*/state.db")
        before = state.read_bytes()
        text = why(tmp_path, "/").out
        for line in (
            "no run has compared pages of this template yet",
            "title       as sent   Sent",
            "            rendered  Drawn",
            f"            rendered  {site.url}",
            "nofollow    both      no",
            f"            rendered  1; only here: {site.url}two",
            f"render.links: 1 link only when rendered, such as {site.url}two",
        ):
            assert line in text
        told = json.loads(why(tmp_path, "/", "/two", "/secret/x", "/missing", "--json").out)["urls"]
        assert state.read_bytes() == before
    home, two, secret, missing = (each["facts"]["render"] for each in told)
    assert home["changed"] == ["links", "canonical", "title", "main text"]
    assert (home["as_sent"]["images"], home["rendered"]["images"]) == (0, 1)
    assert (two["changed"], two["template"]) == ([], None)
    assert "robots.txt forbids the request: robots.txt line 2" in secret["error"]
    assert missing["error"].startswith("the server answered 404")


@pytest.mark.parametrize(
    ("script", "address"),
    [
        ("history.pushState({}, '', '/boats')", "boats"),
        ("history.replaceState({}, '', '/en/')", "en/"),
        ("history.replaceState({}, '', '?page=1')", ""),
        ("location.hash = 'top'", ""),
    ],
)
def test_ours_an_address_that_a_script_gives_the_page_is_evidence_and_no_link(
    tmp_path: Path, script: str, address: str
) -> None:
    with scripted({"/": f"<title>Home</title><p>Home</p><script>{script}</script>"}) as site:
        siteatlas(tmp_path, "crawl", site.url, "-o", "out", *FAST, "--render", "never")
        text = why(tmp_path, "/").out
        note = f"render.address: a script changes the address of the page to {site.url}{address}"
        assert (note in text) == bool(address)
        assert "links       both      0" in text


def test_ours_why_says_what_runs_decided_and_why_it_cannot_render(tmp_path: Path) -> None:
    with scripted(dict(ROUTES)) as site:
        sandbox = ("--set=render.sandbox=false",) if os.geteuid() == 0 else ()
        siteatlas(tmp_path, "crawl", site.url, "-o", "out", *FAST, *sandbox)
        assert "runs render the pages of this template, because rendering changed: links" in why(tmp_path, "/").out
        assert "runs read the page as sent, because it has no scripts" in why(tmp_path, "/two").out
        failed = why(tmp_path, "/", "--set=render.browser=/no/such/browser")
    assert failed.code == 2
    assert "/no/such/browser" in failed.err
    assert len(failed.err.splitlines()) == 1
