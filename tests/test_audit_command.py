"""The command ``siteatlas audit`` as a person meets it: exit codes, sources, second wave, secrets, what it prints."""

import gc
import json
import os
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from run import Ran
from scripted import Answer, Route, links, scripted

from crawler.cli import app
from crawler.state import schema
from crawler.store import directory_for
from crawler.url import normalise

FAST = ("--rate", "0", "--retries", "0", "--processes", "1")
CLOSED = "http://127.0.0.1:2/"  # a port that nobody listens to
Command = Callable[..., Ran]


@pytest.fixture
def siteatlas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    """The command in this process: starting one of its own takes ten times as long."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    threshold = gc.get_threshold()

    def run(*words: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["siteatlas", *words])
        code = app.run()
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        return Ran(code, told.out, told.err)

    yield run
    gc.unfreeze()  # what a command that owns its process may do
    gc.set_threshold(*threshold)


@pytest.fixture
def audit(siteatlas: Command) -> Command:
    """The audit, at full speed and without a second try."""
    return lambda *words: siteatlas("audit", *words, *FAST)


def report(name: str = "out") -> dict[str, Any]:
    """The report of the last audit, without what differs from audit to audit of the same."""
    told: dict[str, Any] = json.loads(Path(name, "audit.json").read_bytes())
    for key in ("started", "seconds", "fetched", "bytes"):
        del told[key]
    return told


def found(told: dict[str, Any]) -> set[tuple[str, str]]:
    """The findings: the rule and the path of each."""
    return {(each["rule"], "/" + each["url"].split("/", 3)[-1]) for each in told["findings"]}


def lost(told: dict[str, Any]) -> set[str]:
    """The paths of the orphans."""
    return {path for rule, path in found(told) if rule.startswith("orphan.")}


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
        "/": links("/hub/", "/plain"),
        "/hub/": links("/", "/hub/one", "/hub/two"),
        "/hub/one": links("/", "/plain"),
        "/hub/two": links("/", "/hub/one"),
        "/plain": links("/"),
        "/lost": links("/"),
        "/asked": links("/"),
    }
    return {**routes, **{f"/{path}": route for path, route in changed.items()}}


def line(
    path: str, status: int = 200, day: int = 3, who: int = 1, agent: str = "Mozilla/5.0 Firefox/128.0"
) -> str:
    """A line of a log in the combined format."""
    when = f"{day:02}/Nov/2026:10:00:00 +0000"
    return f'192.0.2.{who} - - [{when}] "GET {path} HTTP/1.1" {status} 512 "-" "{agent}"\n'


def log(*paths: str, status: int = 200) -> str:
    """Some visits of each path by some people."""
    return "".join(line(path, status, day, who) for path in paths for day in (3, 4) for who in range(1, 6))


# ---------------------------------------------------------------- usage

BAD_INPUT = [
    ((), "siteatlas audit https://example.com/"),
    (("not a url",), '"not a url"'),
    (("example.com",), "https://example.com"),
    ((CLOSED, "--log", "missing.log"), "missing.log"),
    ((CLOSED, "--log", "nothing*.log"), "nothing*.log"),
    ((CLOSED, "--log", "odd.log"), "--log-format"),
    ((CLOSED, "--log", "odd.log", "--log-format", "nonsense"), "nonsense"),
    ((CLOSED, "--log", f"{CLOSED}access.log"), "access.log"),
    ((CLOSED, "--search", "missing.csv"), "missing.csv"),
    ((CLOSED, "--search", "odd.csv"), "--url-column"),
    ((CLOSED, "--list", "odd.csv", "--url-column", "c"), '"c"'),
    ((CLOSED, "--list", "-"), "standard input"),
    ((CLOSED, "--sitemap", "-"), "standard input"),
    ((CLOSED, "--sitemap", "missing.xml"), "missing.xml"),
    ((CLOSED, "--crawl", "."), "state.db"),
    ((CLOSED, "--fail-on", "erorr"), '"error"'),
    ((CLOSED, "--fail-on", "orphan,bogus"), "--rules"),
    ((CLOSED, "--site", "a"), "--config FILE"),
    (("--config", "several.toml"), "--site"),
    (("--config", "several.toml", "--site", "c"), "known are: a, b"),
    (("--config", "missing.toml"), "missing.toml"),
    (("--config", "unknown.toml"), '"min_visits"'),
    ((CLOSED, "--fresh", "--restart"), "--restart"),
    ((CLOSED, "--min-visits", "0"), "--min-visits"),
    ((CLOSED, "--max-outside", "-1"), "--max-outside"),
    ((CLOSED, "--basic-auth", "env:NOT_SET"), "NOT_SET"),
]


@pytest.mark.parametrize(("words", "said"), BAD_INPUT)
def test_ours_bad_input_gets_one_line_that_names_the_thing(
    audit: Command, words: tuple[str, ...], said: str
) -> None:
    Path("odd.log").write_text("hello world\n" * 50)
    Path("odd.csv").write_text("a,b\n1,2\n")
    Path("unknown.toml").write_text("[audit]\nmin_visit = 3\n")
    Path("several.toml").write_text(f"[sites.a.site]\nurl = '{CLOSED}'\n[sites.b.site]\nurl = '{CLOSED}b/'\n")
    ran = audit(*words)
    assert (ran.code, ran.out) == (2, ""), ran.err
    assert said in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert not Path(".siteatlas").exists() or not any(Path(".siteatlas").rglob("*.csv"))


START = [
    ({}, "http://no-such-host.invalid/", "no-such-host.invalid does not exist"),
    ({}, CLOSED, "refused"),
    ({"/robots.txt": Answer("", 503), "/": links()}, "", "robots.txt answered 503"),
    ({"/robots.txt": robots("Disallow: /"), "/": links()}, "", "--ignore-robots"),
    ({"/": links(head='<meta name="robots" content="noindex">')}, "", "--no-respect-noindex"),
    ({}, "", "404"),
    ({"/": Answer("", 401)}, "", "--basic-auth"),
    ({"/": Answer("", 301, {"Location": "https://127.0.0.1:9/"})}, "", "siteatlas audit https://127.0.0.1:9/"),
    ({"/": Answer("", 302, {"Location": "/en/"}), "/en/": Answer("", 301, {"Location": "http://www.x.example/"})}, "",
     "siteatlas audit http://www.x.example/"),
]  # fmt: skip


@pytest.mark.parametrize(("routes", "url", "said"), START)
def test_ours_a_site_of_which_nothing_can_be_had_is_told_with_the_remedy(
    audit: Command, routes: dict[str, Route], url: str, said: str
) -> None:
    with scripted(routes) as site:
        ran = audit(url or site.url, "-o", "out")
        assert (ran.code, ran.out) == (5, ""), ran.err
        assert said in ran.err
        assert len(ran.err.strip().splitlines()) == 1


def test_ours_a_site_that_moved_is_told_before_everything_its_log_knows_is_asked_for(audit: Command) -> None:
    moved = {f"/p{n}": Answer("", 301, {"Location": f"http://www.else.example/p{n}"}) for n in range(20)}
    Path("access.log").write_text(log(*moved))
    with scripted({**moved, "/": Answer("", 301, {"Location": "http://www.else.example/"})}) as site:
        assert audit(site.url, "--log", "access.log").code == 5
        assert not set(site.paths) & moved.keys()


# ---------------------------------------------------------------- limits, locks, disks


@pytest.mark.parametrize("limit", [("--max-pages", "3"), ("--max-time", "0.3")])
def test_ours_a_limit_ends_an_audit_and_the_same_command_goes_on_to_the_same_findings(
    audit: Command, limit: tuple[str, str]
) -> None:
    Path("access.log").write_text(log("/asked"))
    slow = {path: Answer(body, delay=0.2) for path, body in pages().items() if isinstance(body, str)}
    with scripted(pages(**{path[1:]: each for path, each in slow.items()})) as site:
        words = (site.url, "--log", "access.log", "-o", "out", "-c", "1")
        codes = []
        while not codes or codes[-1]:
            ran = audit(*words, *limit)
            codes.append(ran.code)
            assert ran.code in (0, 4), ran.err
            if ran.code:
                assert limit[0] in ran.out
                assert all(
                    not each["is_certain"] for each in report()["findings"] if "orphan" in each["rule"]
                )
        assert len(codes) > 2
        asked = [path for path in site.paths if path not in ("/robots.txt", "/sitemap.xml")]
        assert len(asked) == len({*asked})
        in_parts = report()
        assert audit(*words, "--fresh").code == 0
        assert report() == in_parts
        assert lost(in_parts) == {"/lost", "/asked"}


def test_ours_a_cut_off_second_wave_asks_for_no_more_than_one(audit: Command) -> None:
    names = [f"/n{n}" for n in range(8)]
    Path("access.log").write_text(log(*names))
    with scripted(pages(**{name[1:]: links("/") for name in names})) as site:
        words = (site.url, "--log", "access.log", "-o", "out", "--max-outside", "4", "-c", "1")
        assert audit(*words, "--max-pages", "8").code == 4
        assert audit(*words).code == 0
        in_parts = report()
        assert "raise --max-outside" in in_parts["notes"][0]
        asked = {path for path in site.paths if path in names}
        assert len(asked) == 3  # and the page in the sitemap
        assert audit(*words, "--fresh").code == 0
        assert report() == in_parts


def test_ours_two_audits_of_a_site_are_kept_apart_and_a_crawl_is_in_nobodys_way(
    siteatlas: Command, audit: Command
) -> None:
    with scripted(pages()) as site:
        state = directory_for(Path(".siteatlas"), normalise(f"{site.url}sitemap.xml"))
        held = schema.lock(state)
        assert audit(site.url).code == 0
        os.close(held)
        held = schema.lock(state / "audit")
        ran = audit(site.url)
        assert (ran.code, ran.out) == (6, "")
        assert "another process" in ran.err
        assert siteatlas("crawl", site.url, "-o", "public", *FAST).code == 0
        os.close(held)


@pytest.mark.parametrize("words", [("-o", "file/below"), ("-o", "/proc/nothing"), ("--state", "file/below")])
def test_ours_a_place_that_cannot_be_written_is_told_before_the_first_request(
    audit: Command, words: tuple[str, str]
) -> None:
    Path("file").write_text("a file")
    with scripted(pages()) as site:
        ran = audit(site.url, *words)
        assert (ran.code, ran.out) == (7, "")
        assert words[1].rpartition("/")[0] in ran.err
        assert words[0] in ran.err
        assert not site.log


def test_ours_a_full_disk_is_told_wherever_it_is_met_and_the_next_audit_is_whole(audit: Command) -> None:
    Path("access.log").write_text(log(*(f"/page/of/some/length/{n}" for n in range(3000))))
    with scripted(pages()) as site:
        words = (site.url, "--log", "access.log", "-o", "out")
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limit[1]))
        try:
            ran = audit(*words)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        assert (ran.code, ran.out) == (7, ""), ran.err
        assert len(ran.err.strip().splitlines()) == 1
        Path("out/.audit.json.draft").symlink_to("/dev/full")
        ran = audit(*words, "--max-outside", "10")
        assert (ran.code, ran.out) == (7, "")
        assert "audit.json" in ran.err
        assert audit(*words, "--max-outside", "10").code == 0
        assert "/lost" in lost(report())
