"""Which findings of an audit the next one calls resolved, when the crawl cannot see all of the site."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from audited import FAST, Command, in_process, page, robots, sitemap
from scripted import Answer, Route, scripted

BLOCKED = robots("Disallow: /private/")
NO_BLOCK = robots("Disallow: /nothing/")


@pytest.fixture
def siteatlas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    with in_process(tmp_path, monkeypatch, capsys) as command:
        yield command


@pytest.fixture
def audit(siteatlas: Command) -> Command:
    return lambda url, *words: siteatlas("audit", url, "-o", "out", *words, *FAST)


def site(robots_txt: Answer = BLOCKED) -> dict[str, Route]:
    """Pages that link to /dead, one of them through a redirect; a cluster that is not mutual; a page to be blocked."""
    return {
        "/robots.txt": robots_txt,
        "/sitemap.xml": sitemap("", "a", "b", "en", "de"),
        "/": page("/a", "/b", "/en", "/private/", "/list/"),
        "/a": page("/", "/dead"),
        "/b": page("/", "/old", "/moved"),
        "/old": Answer("", 301, {"Location": "/dead"}),
        "/moved": Answer("", 301, {"Location": "/a"}),
        "/en": page("/", head=versions("en", "de")),
        "/de": page("/", head=versions("de")),
        "/list/": page("/", "/dead", "/lost"),
        "/private/": page("/"),
    }


def versions(*codes: str) -> str:
    named = {**{code: code for code in codes}, "x-default": codes[0]}
    return "".join(f'<link rel="alternate" hreflang="{code}" href="/{path}">' for code, path in named.items())


MENDED = {"/a": page("/", "/b"), "/b": page("/", "/a"), "/list/": page("/", "/a")}
LINKS = {("gone.linked", "dead"), ("gone.linked", "lost"), ("link.redirect", "moved")}


def became(url: str) -> tuple[set[tuple[str, str]], dict[tuple[str, str], str]]:
    """The resolved findings of dead links and of hreflang, and those that were not decided, with the reason."""
    whole = json.loads(Path("out/audit.json").read_bytes())

    def name(each: dict[str, str]) -> tuple[str, str]:
        return each["rule"], each["url"].removeprefix(url)

    resolved = {name(each) for each in whole["mended"] if not each["became"]}
    undecided = {name(each): each["why"] for each in whole["compared"]["undecided"]}
    about = ("gone.", "link.", "cluster.", "target.")
    return (
        {each for each in resolved if each[0].startswith(about)},
        {each: why for each, why in undecided.items() if each[0].startswith(about)},
    )


def test_ours_a_blocked_page_does_not_keep_a_mended_finding_of_other_pages(audit: Command) -> None:
    with scripted(site()) as served:
        audit(served.url)
        served.routes |= {**MENDED, "/de": page("/", head=versions("de", "en"))}
        ran = audit(served.url)
        assert "blocked by robots.txt" in ran.out
        assert became(served.url) == ({*LINKS, ("cluster.not_mutual", "en")}, {})


def test_ours_a_page_whose_links_an_editor_swapped_keeps_no_finding(audit: Command) -> None:
    trusting = "--set=audit.trust_blocked=true"
    with scripted(site()) as served:
        audit(served.url, trusting)
        served.routes |= {**MENDED, "/list/": page("/", "/dead", "/a")}
        ran = audit(served.url, trusting)
        assert "had other links in an earlier audit" in ran.out
        resolved, undecided = became(served.url)
        assert resolved >= {("gone.linked", "lost")}
        assert not undecided
        served.routes["/de"] = page("/", head=versions("de", "en"))
        ran = audit(served.url, trusting)
        assert "had other links in an earlier audit" in ran.out
        assert became(served.url) == ({("cluster.not_mutual", "en")}, {})


def test_ours_a_page_that_is_not_read_this_time_may_still_have_the_fault(audit: Command, siteatlas: Command) -> None:
    with scripted(site(NO_BLOCK)) as served:
        audit(served.url)
        served.routes |= {
            "/robots.txt": robots("Disallow: /list/", "Disallow: /de"), "/a": MENDED["/a"], "/b": MENDED["/b"],
        }  # fmt: skip
        ran = audit(served.url)
        resolved, undecided = became(served.url)
        assert resolved == {("link.redirect", "moved")}
        assert undecided.keys() == {("gone.linked", "dead"), ("gone.linked", "lost"), ("cluster.not_mutual", "en")}
        assert f"not decided: {served.url}dead (gone.linked): {served.url}list/ was not read (" in ran.out
        assert f"{served.url}dead (gone.linked)" in Path("out/audit.html").read_text()
        assert undecided["gone.linked", "dead"].endswith("use --set audit.trust_blocked=true")
        assert f"{served.url}de was not read" in undecided["cluster.not_mutual", "en"]
        assert "could not decide whether it is resolved" in siteatlas("why", f"{served.url}en").out

        audit(served.url, "--set=audit.trust_blocked=true")
        resolved, undecided = became(served.url)
        assert resolved == {("gone.linked", "dead"), ("gone.linked", "lost")}
        assert undecided.keys() == {("cluster.not_mutual", "en")}


def test_ours_a_redirect_that_fails_this_time_may_still_lead_to_what_is_gone(audit: Command) -> None:
    with scripted(site() | {"/a": page("/"), "/list/": page("/")}) as served:
        audit(served.url)
        served.routes["/old"] = Answer("", 503)
        audit(served.url)
        resolved, undecided = became(served.url)
        assert not resolved
        assert undecided.keys() >= {("gone.linked", "dead")}


@pytest.mark.parametrize(
    ("to", "answer", "robots_txt"), [("new", Answer("", 503), NO_BLOCK), ("private/new", page("/", "/dead"), BLOCKED)]
)
def test_ours_a_page_that_moved_to_where_it_cannot_be_read_may_still_have_the_link(
    audit: Command, to: str, answer: Answer, robots_txt: Answer
) -> None:
    with scripted(site(NO_BLOCK) | {"/b": page("/"), "/list/": page("/", "/lost")}) as served:
        audit(served.url)
        moved = Answer("", 301, {"Location": f"/{to}"})
        served.routes |= {"/robots.txt": robots_txt, "/a": moved, f"/{to}": answer, "/list/": page("/")}
        audit(served.url)
        resolved, undecided = became(served.url)
        assert resolved == {("gone.linked", "lost")}
        assert f"{served.url}{to} was not read" in undecided.pop(("gone.linked", "dead"))
        assert not undecided


def test_ours_a_page_that_moved_to_another_site_has_no_link_of_this_one(audit: Command) -> None:
    with scripted(site() | {"/b": page("/"), "/list/": page("/")}) as served:
        audit(served.url)
        served.routes["/a"] = Answer("", 301, {"Location": "https://other.example/"})
        ran = audit(served.url)
        assert "blocked by robots.txt" in ran.out
        assert became(served.url) == ({("gone.linked", "dead")}, {})


def test_ours_a_target_that_does_not_answer_this_time_may_still_be_dead(audit: Command) -> None:
    style = '<link rel="stylesheet" href="/style.css">'
    with scripted({"/dead": Answer("", 404)}) as other:
        port = other.url.rstrip("/").rpartition(":")[2]
        link = f"http://other.siteatlas-check.net:{port}/dead"
        asked = "--set=audit.check_external=true", f"--resolve=other.siteatlas-check.net:{port}:127.0.0.1"
        faults = {("target.once", link), ("target.file", "style.css")}
        with scripted(site(NO_BLOCK) | {"/a": page("/", link, head=style), "/style.css": Answer("", 404)}) as served:
            audit(served.url, *asked)
            other.routes["/dead"] = served.routes["/style.css"] = Answer("", 503)
            audit(served.url, *asked)
            resolved, undecided = became(served.url)
            assert not resolved
            assert undecided.keys() == faults
            assert undecided["target.once", link].startswith("no answer says whether it can be fetched")
            other.routes["/dead"] = served.routes["/style.css"] = page()
            audit(served.url, *asked)
            assert became(served.url) == (faults, {})


@pytest.mark.parametrize("is_closed_by_robots", [False, True])
def test_ours_a_part_of_a_page_that_is_closed_this_time_may_still_be_missing(
    audit: Command, *, is_closed_by_robots: bool
) -> None:
    trusting = "--set=audit.trust_blocked=true"
    fault = "target.fragment", "private/#part"
    with scripted(site(NO_BLOCK) | {"/a": page("/", "/private/#part")}) as served:
        audit(served.url, trusting)
        served.routes |= {"/robots.txt": BLOCKED} if is_closed_by_robots else {"/private/": Answer("", 401)}
        audit(served.url, trusting)
        resolved, undecided = became(served.url)
        assert not resolved
        assert f"{served.url}private/ was not read" in undecided.pop(fault)
        assert not undecided
        served.routes |= {"/robots.txt": NO_BLOCK, "/private/": page("/"), "/a": page("/")}
        audit(served.url, trusting)
        resolved, undecided = became(served.url)
        assert fault in resolved
        assert not undecided
