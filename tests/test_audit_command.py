"""The command ``siteatlas audit`` as a person meets it: exit codes, sources, second wave, secrets, what it prints."""

import contextlib
import gzip
import json
import os
import re
import resource
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audited import CLOSED, FAST, Command, in_process, line, log, page, pages, robots, sitemap
from scripted import Answer, Route, scripted

from crawler.config.plan import state_directory
from crawler.state.lock import hold_lock
from crawler.url.normalize import normalize_url


@pytest.fixture
def siteatlas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    with in_process(tmp_path, monkeypatch, capsys) as command:
        yield command


@pytest.fixture
def audit(siteatlas: Command) -> Command:
    """The audit, at full speed and without a second try."""
    return lambda *words: siteatlas("audit", *words, *FAST)


def report(name: str = "out") -> dict[str, Any]:
    """The report of the last audit, without what differs from audit to audit of the same."""
    told: dict[str, Any] = json.loads(Path(name, "audit.json").read_bytes())
    for key in ("started", "seconds", "fetched", "bytes", "crawl", "compared", "why_uncompared", "mended", "history"):
        del told[key]
    for each in told["findings"]:
        del each["since"]
        each.pop("is_new", None)
    return told


def found(told: dict[str, Any]) -> set[tuple[str, str]]:
    """The findings: the rule and the path of each."""
    return {(each["rule"], "/" + each["url"].split("/", 3)[-1]) for each in told["findings"]}


def lost(told: dict[str, Any]) -> set[str]:
    """The paths of the orphans."""
    return {path for rule, path in found(told) if rule.startswith("orphan.")}


# ---------------------------------------------------------------- usage

BAD_INPUT = [
    ((), "siteatlas audit https://example.com/"),
    (("not a url",), '"not a url"'),
    ((CLOSED, "--log", "missing.log"), "missing.log"),
    ((CLOSED, "--log", "nothing*.log"), "nothing*.log"),
    ((CLOSED, "--log", "odd.log"), "audit.log_format"),
    ((CLOSED, "--log", "odd.log", "--set=audit.log_format=nonsense"), "nonsense"),
    ((CLOSED, "--log", "ftp://127.0.0.1/access.log"), "ftp"),
    ((CLOSED, "--search", "missing.csv"), "missing.csv"),
    ((CLOSED, "--search", "odd.csv"), "audit.url_column"),
    ((CLOSED, "--list", "odd.csv", "--set=audit.url_column=c"), '"c"'),
    ((CLOSED, "--list", "-"), "standard input"),
    ((CLOSED, "--sitemap", "-"), "standard input"),
    ((CLOSED, "--sitemap", "missing.xml"), "missing.xml"),
    ((CLOSED, "--crawl", "old"), "siteatlas export"),
    ((CLOSED, "--fail-on", "erorr"), '"error"'),
    ((CLOSED, "--fail-on", "orphan,zzz"), "--rules"),
    ((CLOSED, "--site", "a"), "--config FILE"),
    (("--config", "several.toml"), "--site"),
    (("--config", "several.toml", "--site", "c"), "Its sites are a, b"),
    (("--config", "missing.toml"), "missing.toml"),
    (("--config", "unknown.toml"), '"min_visits"'),
    ((CLOSED, "--fresh", "--restart"), "--restart"),
    ((CLOSED, "--set=audit.min_visits=0"), "audit.min_visits"),
    ((CLOSED, "--max-unlinked", "-1"), "--max-unlinked"),
    ((CLOSED, "--basic-auth", "env:NOT_SET"), "NOT_SET"),
]


@pytest.mark.parametrize(("words", "said"), BAD_INPUT)
def test_ours_bad_input_gets_one_line_that_names_the_thing(audit: Command, words: tuple[str, ...], said: str) -> None:
    Path("odd.log").write_text("hello world\n" * 50)
    Path("odd.csv").write_text("a,b\n1,2\n")
    Path("old").mkdir()
    Path("old/state.db").touch()
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
    ({"/robots.txt": Answer("", 503), "/": page()}, "", "robots.txt answered 503"),
    ({"/robots.txt": robots("Disallow: /"), "/": page()}, "", "--set obey.robots=false"),
    ({"/": page(head='<meta name="robots" content="noindex">')}, "", "--set obey.noindex=false"),
    ({}, "", "404"),
    ({"/": Answer("", 401)}, "", "--basic-auth"),
    ({"/": Answer("", 301, {"Location": "https://elsewhere.example/"})}, "", "the same command with the URL https://elsewhere.example/"),
    ({"/": Answer("", 302, {"Location": "/en/"}), "/en/": Answer("", 301, {"Location": "http://www.x.example/"})}, "",
     "run the same command with the URL http://www.x.example/"),
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


def test_ours_a_site_that_cannot_be_had_is_told_before_its_log_is_read(audit: Command) -> None:
    Path("access.log").write_text(log("/asked"))
    with scripted(pages(**{"robots.txt": Answer("", 503)})) as site:
        assert audit(site.url, "--log", "access.log").code == 5
    (tables,) = Path(".siteatlas").glob("*/audit/audit.db")
    with contextlib.closing(sqlite3.connect(tables)) as db:
        assert db.execute("SELECT count(*) FROM input").fetchone() == (0,)


# ---------------------------------------------------------------- limits, locks, disks


@pytest.mark.parametrize("limit", [("--max-pages", "3"), ("--set=scope.max_time=0.3",)])
def test_ours_a_limit_ends_an_audit_and_the_same_command_goes_on_to_the_same_findings(
    audit: Command, limit: tuple[str, str]
) -> None:
    Path("access.log").write_text(log("/asked"))
    slow = {path: Answer(body, delay=0.1) for path, body in pages().items() if isinstance(body, str)}
    with scripted(pages(**{path[1:]: each for path, each in slow.items()})) as site:
        words = (site.url, "--log", "access.log", "-o", "out", "-c", "1", "--set=fetch.second_reads=0")
        codes = []
        while not codes or codes[-1]:
            ran = audit(*words, *limit)
            codes.append(ran.code)
            assert ran.code in (0, 4), ran.err
            if ran.code:
                assert limit[0].removeprefix("--set=").partition("=")[0] in ran.out
                assert "run the same command again to resume" in re.sub(r"\s+", " ", ran.out)
                assert all(not each["is_certain"] for each in report()["findings"] if "orphan" in each["rule"])
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
    with scripted(pages(**{name[1:]: page("/") for name in names})) as site:
        words = (site.url, "--log", "access.log", "-o", "out", "--max-unlinked", "4", "-c", "1")
        assert audit(*words, "--max-pages", "8").code == 4
        assert audit(*words).code == 0
        in_parts = report()
        assert "raise --max-unlinked" in in_parts["notes"][0]
        asked = {path for path in site.paths if path in names}
        assert len(asked) == 3  # and the page in the sitemap
        assert audit(*words, "--fresh").code == 0
        assert report() == in_parts


def test_ours_two_audits_of_a_site_are_kept_apart_and_a_crawl_is_in_nobodys_way(
    siteatlas: Command, audit: Command
) -> None:
    with scripted(pages()) as site:
        state = state_directory(Path(".siteatlas"), normalize_url(f"{site.url}sitemap.xml"))
        held = hold_lock(state)
        assert audit(site.url).code == 0
        os.close(held)
        held = hold_lock(state / "audit")
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
        Path("out/.audit.json.draft").mkdir()
        ran = audit(*words, "--max-unlinked", "10")
        assert (ran.code, ran.out) == (7, "")
        assert "audit.json" in ran.err
        Path("out/.audit.json.draft").rmdir()
        assert audit(*words, "--max-unlinked", "10").code == 0
        assert "/lost" in lost(report())


# ---------------------------------------------------------------- what makes it fail


def test_ours_fail_on_takes_severities_families_and_rules_from_flag_environment_and_file(
    audit: Command, siteatlas: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted(pages()) as site:
        toml = Path("site.toml")
        for names, code in [
            (("orphan.sitemap",), 10),
            (("orphan",), 10),
            (("warning",), 10),
            (("error",), 0),
            (("error,gone", "orphan.*"), 10),
            (("orphan.log", "hreflang"), 0),
            (("never",), 0),
        ]:
            flags = [word for name in names for word in ("--fail-on", name)]
            assert audit(site.url, "-q", *flags).code == code, names
        toml.write_text(f"[site]\nurl = '{site.url}'\n[audit]\nfail_on = ['error', 'orphan']\n")
        assert audit("--config", "site.toml", "-q").code == 10
        monkeypatch.setenv("SITEATLAS_AUDIT_FAIL_ON", "error\norphan")
        ran = audit(site.url, "-q")
        assert (ran.code, ran.out) == (10, "")
        assert "orphan.sitemap" in ran.err
        site.routes["/hub/two"] = Answer("", 500)
        assert audit(site.url, "-q").code == 10  # likely: an earlier audit read the page that fails now
        assert audit(site.url, "-q", "--max-pages", "3").code == 4  # inconclusive: neither a failure nor a green light


# ---------------------------------------------------------------- the next audit


def tagged(path: str, body: str) -> Answer:
    return Answer(body, headers={"ETag": f'"{path}"'})


def test_ours_the_next_audit_asks_for_what_changed_and_comes_to_the_same(audit: Command) -> None:
    bodies = {path: body for path, body in pages().items() if isinstance(body, str)}
    routes = {path[1:]: tagged(path, body) for path, body in bodies.items()}
    Path("access.log").write_text(log("/asked", "/dead"))
    with scripted(pages(**routes)) as site:
        words = (site.url, "--log", "access.log", "-o", "out")

        def conditional() -> set[str]:
            site.log.clear()
            assert audit(*words).code == 0
            return {path for _, path, headers in site.log if "if-none-match" in headers}

        assert conditional() == set()
        first = report()
        assert lost(first) == {"/lost", "/asked"}
        assert conditional() == bodies.keys()
        assert report() == first
        assert conditional() == bodies.keys()
        assert report() == first
        site.routes["/lost"] = page("/", "/new")
        site.routes["/new"] = page("/asked")
        conditional()
        assert ("orphan.island", "/new") in found(report())
        assert audit(*words, "--max-pages", "2").code == 4
        site.log.clear()
        assert audit(*words, "--restart").code == 0
        assert sum("if-none-match" in headers for _, _, headers in site.log) == len(bodies) - 1
        words = (*words, "--fresh")
        assert conditional() == set()


# ---------------------------------------------------------------- sources


def test_ours_sources_are_files_globs_folders_packed_or_not_and_many_at_once(audit: Command) -> None:
    for folder in ("logs", "more"):
        Path(folder).mkdir()
    Path("logs/access.log").write_text(log("/asked"))
    Path("logs/access.log.1").write_bytes(gzip.compress(log("/packed").encode()))  # its name does not say so
    Path("more/b.log").write_text(log("/foldered"))
    Path("Pages.csv").write_text("Top pages,Clicks,Impressions,CTR,Position\n{url}searched,3,40,7.5%,4\n")
    Path("list.txt").write_bytes(gzip.compress(b"/noted\n"))
    names = ("asked", "packed", "foldered", "searched", "noted", "fetched", "served")
    with scripted(pages(**{name: page("/") for name in names})) as site:
        Path("Pages.csv").write_text(Path("Pages.csv").read_text().replace("{url}", site.url))
        site.routes["/urls.txt"] = Answer("/fetched\n", headers={"Content-Type": "text/plain"})
        words = ("--log", "logs/access*", "--log", "more", "--search", "Pages.csv", "--list", "list.txt")
        site.routes["/far.log"] = Answer(gzip.compress(log("/served").encode()))
        words = (*words, "--log", f"{site.url}far.log", "--log", f"{site.url}none.log")
        ran = audit(site.url, *words, "--list", f"{site.url}urls.txt", "-o", "out")
        assert ran.code == 0, ran.err
        assert found(report()) >= {
            *(("orphan.log", f"/{name}") for name in ("asked", "packed", "foldered", "served")),
            ("orphan.search", "/searched"),
            *(("orphan.list", f"/{name}") for name in ("noted", "fetched")),
            ("orphan.sitemap", "/lost"),
        }
        far, none = (each for each in report()["inputs"] if each["source"] == "log" and "://" in each["name"])
        assert far["used"]
        assert far["complete"]
        assert "404" in none["faults"][0]


def test_ours_paths_in_a_configuration_are_those_of_its_folder_and_a_site_is_chosen(audit: Command) -> None:
    Path("etc/logs").mkdir(parents=True)
    Path("etc/logs/a.log").write_text(log("/asked"))
    Path("etc/list.txt").write_text("/noted\n")
    with scripted(pages(noted=page("/"))) as site, scripted(pages()) as other:
        Path("etc/sites.toml").write_text(
            f"[audit]\nlists = ['list.txt']\nreport = 'report'\n[sites.a.site]\nurl = '{other.url}'\n"
            f"[sites.b.site]\nurl = '{site.url}'\n[sites.b.audit]\nlogs = ['logs/*.log']\nmin_visits = 3\n"
        )
        ran = audit("--config", "etc/sites.toml", "--site", "b")
        assert ran.code == 0, ran.err
        assert lost(report("etc/report/b")) == {"/lost", "/asked", "/noted"}
        assert Path("etc/.siteatlas").is_dir()
        assert not other.log
        assert not Path(".siteatlas").exists()


def test_ours_the_environment_names_sources_a_line_each(audit: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.log").write_text(log("/asked"))
    Path("b.log").write_text(log("/other"))
    monkeypatch.setenv("SITEATLAS_AUDIT_LOGS", "a.log\nb.log\n")
    monkeypatch.setenv("SITEATLAS_AUDIT_REPORT", "out")
    monkeypatch.setenv("SITEATLAS_AUDIT_MIN_VISITS", "2")
    with scripted(pages(other=page("/"))) as site:
        assert audit(site.url).code == 0
        assert lost(report()) == {"/lost", "/asked", "/other"}


def test_ours_a_site_read_from_its_folder_or_staging_server_has_the_same_findings(audit: Command) -> None:
    public = "http://www.site.example/"

    def made(base: str) -> dict[str, str]:
        """The pages, with absolute links as a generator makes them."""
        return {
            "": page(f"{base}hub/", f"{base}plain"),
            "hub/": page(base, f"{base}hub/one"),
            "hub/one": page("/", f"{base}plain"),
            "plain": page(f"{base}"),
            "lost": page(base),
            "asked": page("/"),
        }

    names = ("", "hub/", "hub/one", "plain", "lost")
    for path, body in made(public).items():
        file = Path("build", f"{path}index.html" if not path or path.endswith("/") else f"{path}.html")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(body)
    xml = str(sitemap(*names).body).replace("{url}", public)
    Path("build/sitemap.xml").write_text(xml)
    Path("access.log").write_text(log("/asked"))
    words = (public, "--log", "access.log")
    assert audit(*words, "--source", "build", "-o", "folder").code == 0
    with scripted({f"/{path}": body for path, body in made("{url}").items()}) as staging:
        staging.routes["/sitemap.xml"] = sitemap(*names)
        assert audit(*words, "--source", staging.url, "--restart", "-o", "staging").code == 0
    with scripted({f"/{path}": body for path, body in made(public).items()}) as site:
        site.routes["/sitemap.xml"] = Answer(xml, headers={"Content-Type": "application/xml"})
        host = ("--source", site.url, "-H", "Host: www.site.example")
        assert audit(*words, *host, "--restart", "-o", "out").code == 0
    assert found(report()) == found(report("folder")) == found(report("staging"))
    assert lost(report()) == {"/lost", "/asked"}
    assert {each["url"] for each in report("staging")["findings"]} == {each["url"] for each in report()["findings"]}


# ---------------------------------------------------------------- the second wave


def test_ours_guesses_of_scanners_cost_no_request(audit: Command) -> None:
    guesses = [f"/{name}{n}" for n in range(500) for name in (".env.", "wp-login.php?x=", "backup/db", "a/../../")]
    noise = "".join(line(path, 404, 1 + n % 20, 10 + n % 200) for n, path in enumerate(guesses))
    Path("access.log").write_text(noise + log("/asked") + log("/was", status=404) + log("/once", status=404)[:400])
    with scripted(pages()) as site:
        assert audit(site.url, "--log", "access.log", "-o", "out", "--set=fetch.second_reads=0").code == 0
        assert [path for path in site.paths if path not in site.routes] == ["/was"]
        assert ("gone.visited", "/was") in found(report())
        assert len(site.paths) < 15


def test_ours_what_the_sitemap_lists_is_asked_for_first_and_no_more_than_a_number(audit: Command) -> None:
    Path("access.log").write_text(log(*(f"/a{n}" for n in range(20))))
    Path("list.txt").write_text("/listed\n")
    outside = {f"a{n}": page("/") for n in range(20)} | {f"s{n}": page("/") for n in range(3)} | {"listed": page()}
    changed = {**outside, "sitemap.xml": sitemap("", "s0", "s1", "s2")}
    with scripted(pages(**changed)) as site:
        words = (site.url, "--log", "access.log", "--list", "list.txt", "-o", "out")
        ran = audit(*words, "--max-unlinked", "4")
        assert {path for path in site.paths if path[1:] in outside} == {"/s0", "/s1", "/s2", "/listed"}
        assert "20 URLs that only sources name were not fetched" in ran.out
        site.log.clear()
        ran = audit(*words, "--max-unlinked", "0")
        assert not {path for path in site.paths if path[1:] in outside}
        assert "24 URLs that only sources name were not fetched" in ran.out


def test_ours_robots_patterns_and_depth_hold_for_what_sources_know(audit: Command) -> None:
    names = ("private/page", "old/page", "chained", "mine")
    Path("access.log").write_text(log(*(f"/{name}" for name in names)))
    routes: dict[str, Route] = {
        "private/page": page("/"),
        "old/page": page("/"),
        "chained": page("/second"),
        "second": page("/third"),
        "third": page("/fourth"),
        "fourth": page("/"),
        "mine": Answer("", 301, {"Location": "/private/there"}),
        "private/there": page("/"),
    }
    with scripted(pages(**routes)) as site:
        words = (site.url, "--log", "access.log", "-o", "out")
        assert audit(*words, "--exclude", "*/old/*").code == 0
        asked = set(site.paths)
        assert not {path for path in asked if "private/" in path or "old/" in path}
        assert {"/chained", "/second", "/third", "/fourth"} <= asked
        assert ("orphan.island", "/fourth") in found(report())
        site.log.clear()
        assert audit(*words, "--fresh", "--set=scope.max_depth=1").code == 0
        assert "/chained" in site.paths
        assert "/second" not in site.paths
        assert "scope.max_depth" in report()["doubts"][0]


# ---------------------------------------------------------------- secrets


def test_ours_secrets_go_to_the_site_only_and_into_no_file(
    audit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTH", "user:tok-basic")
    with scripted({"/": page(), "/urls.txt": Answer("/asked\n", headers={"Content-Type": "text/plain"})}) as other:
        image = f"<image:image><image:loc>{other.url}picture.jpg</image:loc></image:image>"
        xml = str(sitemap("", "lost").body).replace("</loc></url>", f"</loc>{image}</url>", 1)
        xml = xml.replace("<urlset ", '<urlset xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" ')
        routes: dict[str, Route] = {
            "": page("/hub/", f"{other.url}x"),
            "hub/": Answer("", 302, {"Location": f"{other.url}y"}),
            "sitemap.xml": Answer(xml, headers={"Content-Type": "application/xml"}),
        }
        with scripted(pages(**routes)) as site:
            words = ("-H", "X-Api-Key: tok-header", "--cookie", "s=tok-cookie", "--basic-auth", "env:AUTH")
            place = other.url.split("/")[2]
            ran = audit(site.url, *words, "--list", f"{other.url}urls.txt", "--host", place, "-o", "out", "-v")
            assert ran.code == 0, ran.err
            assert {"/picture.jpg", "/urls.txt"} <= set(other.paths)
            assert all(each["x-api-key"] == "tok-header" for _, _, each in site.log)
            assert all("authorization" in each and "tok-cookie" in each["cookie"] for _, _, each in site.log)
            assert not [each for _, _, each in other.log if {"x-api-key", "authorization", "cookie"} & each.keys()]
            kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
            assert {path.name for path in Path("out").iterdir()} > {"audit.html", "audit.json", "audit.sarif"}
            assert b"tok-" not in kept + (ran.out + ran.err).encode()


# ---------------------------------------------------------------- beside the runs


def test_ours_why_status_and_run_know_an_audit_from_a_run(siteatlas: Command, audit: Command) -> None:
    Path("access.log").write_text(log("/asked"))
    with scripted(pages()) as site:
        Path("site.toml").write_text(
            f"[site]\nurl = '{site.url}'\n[output]\ndirectory = 'public'\n[audit]\nlogs = ['access.log']\n"
        )
        told = ("--config", "site.toml")
        assert audit(*told).code == 0
        assert siteatlas("why", f"{site.url}asked").code == 0  # there is no run yet
        assert "not crawled yet" in siteatlas("status", *told).out
        assert siteatlas("run", *told, *FAST).code == 0
        before = Path("public/sitemap.xml").read_bytes()
        assert siteatlas("why", f"{site.url}asked", *told).code == 0
        both = siteatlas("why", f"{site.url}hub/one")
        assert both.code == 0
        assert "is listed" in both.out
        assert siteatlas("why", "/nowhere", *told).code == 10
        assert audit(*told).code == 0
        (only,) = json.loads(siteatlas("status", "--json").out)["sites"]
        assert len(only["runs"]) == 1
        assert siteatlas("run", *told, *FAST).code == 0
        assert Path("public/sitemap.xml").read_bytes() == before
        assert b"asked" not in before


# ---------------------------------------------------------------- what it prints


def test_ours_each_form_is_alone_on_standard_output(audit: Command) -> None:
    with scripted(pages()) as site:
        for form, first in (("json", "{"), ("sarif", "{"), ("junit", "<?xml")):
            ran = audit(site.url, "--format", form, "-o", "out")
            assert ran.code == 0
            assert ran.out.startswith(first)
            assert ran.err == ""
            if form == "json":
                assert json.loads(ran.out)["findings"]
            quiet = audit(site.url, "--format", form, "-q")
            assert quiet.out.startswith(first)


def test_ours_quiet_is_silent_unless_something_is_wrong(audit: Command) -> None:
    with scripted(pages()) as site:
        ran = audit(site.url, "-q", "-o", "out")
        assert (ran.code, ran.out, ran.err) == (0, "", "")
        ran = audit(site.url, "-q", "--max-pages", "2")
        assert (ran.code, ran.out) == (4, "")
        assert "--max-pages" in ran.err
        ran = audit(site.url, "-q", "--list", f"{site.url}missing.txt")
        assert (ran.code, ran.out) == (0, "")
        assert "missing.txt" in ran.err
