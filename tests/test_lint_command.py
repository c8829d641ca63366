"""`siteatlas lint` as a person runs it: on files, folders, the standard input and real servers."""

import gzip
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from junitparser import JUnitXml
from nginx import nginx
from run import Ran, command, environment, siteatlas
from scripted import Answer, Route, Site, scripted

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
NOW = ("--rate", "0", "--set=fetch.retries=0")


def urlset(*locs: str) -> str:
    urls = "".join(f"<url><loc>{loc}</loc></url>\n" for loc in locs)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {NS}>\n{urls}</urlset>\n'


def index(*locs: str) -> str:
    maps = "".join(f"<sitemap><loc>{loc}</loc><lastmod>2026-01-31</lastmod></sitemap>\n" for loc in locs)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex {NS}>\n{maps}</sitemapindex>\n'


def xml(body: str | bytes, **more: object) -> Answer:
    """An answer with XML in it."""
    return Answer(body, headers={"Content-Type": "application/xml"}, **more)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a good sitemap, one with faults, and an index of both."""
    (tmp_path / "good.xml").write_text(urlset("https://example.com/a", "https://example.com/b"))
    (tmp_path / "bad.xml").write_text(urlset("https://example.com/c", "ftp://example.com/x", "https://example.com/#d"))
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "sitemap.xml").write_text(
        index("https://example.com/one.xml", "https://example.com/two.xml.gz")
    )
    (tmp_path / "set" / "one.xml").write_text(urlset("https://example.com/1"))
    two = urlset("https://example.com/2", "https://example.com/1")
    (tmp_path / "set" / "two.xml.gz").write_bytes(gzip.compress(two.encode()))
    return tmp_path


@pytest.fixture
def site() -> Iterator[Site]:
    routes: dict[str, Route] = {
        "/sitemap.xml": xml(index("{url}one.xml", "{url}two.xml.gz", "{url}moved.xml")),
        "/one.xml": xml(urlset("{url}1")),
        "/two.xml.gz": Answer(gzip.compress(urlset("https://elsewhere.example/").encode())),
        "/moved.xml": Answer("", 301, {"Location": "/moved/here.xml"}),
        "/moved/here.xml": xml(urlset("{url}moved/1")),
    }
    with scripted(routes) as running:
        yield running


def rules(ran: Ran) -> set[tuple[str, str]]:
    """The last part of the file, and the rule, of each finding of a JSON report."""
    return {(each["file"].rpartition("/")[2], each["rule"]) for each in json.loads(ran.out)["findings"]}


def test_ours_a_good_file_passes_and_a_bad_one_ends_with_10(folder: Path) -> None:
    good = siteatlas(folder, "lint", "good.xml", anew=True)
    assert (good.code, good.err) == (0, "")
    assert good.out.splitlines()[-1] == "passes"
    bad = siteatlas(folder, "lint", "bad.xml")
    assert bad.code == 10
    assert "bad.xml:4: error sitemap.loc_invalid: " in bad.out
    assert "bad.xml:5: warning sitemap.loc_fragment: " in bad.out
    assert bad.out.splitlines()[-1].startswith("fails: 1 error")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--fail-on", "never"), 0),
        (("--ignore", "sitemap.loc_invalid"), 0),
        (("--ignore", "sitemap.loc_invalid", "--fail-on", "warning"), 10),
        (("--only", "sitemap.loc_fragment"), 0),
        (("--only", "sitemap.loc_fragment", "--fail-on", "note"), 10),
        (("--only", "sitemap.loc_invalid", "-q"), 10),
    ],
)
def test_ours_threshold_and_chosen_rules_decide_the_exit_code(folder: Path, words: tuple[str, ...], code: int) -> None:
    ran = siteatlas(folder, "lint", "bad.xml", *words)
    assert ran.code == code
    if "-q" in words:
        assert ran.out == ""
        assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "no sitemap is given"),
        (("nothing.xml",), "'nothing.xml' does not exist"),
        (("example.com/sitemap.xml",), "Did you mean https://example.com/sitemap.xml?"),
        ((".",), "has no sitemap.xml or sitemap_index.xml"),
        (("good.xml", "--ignore", "sitemap.loc_invali"), 'Did you mean "sitemap.loc_invalid"?'),
        (("good.xml", "--only", "zzzz"), "siteatlas lint --rules lists all rules"),
        (("good.xml", "--url", "example.com/sitemap.xml"), "--url"),
        (("good.xml", "bad.xml", "--url", "https://example.com/sitemap.xml"), "with a slash at its end"),
        (("good.xml", "--cross-submits"), "--cross-submits needs"),
        (("https://", "--rate", "0"), "cannot be used"),
        (("https://me:hunter2@example.com/sitemap.xml",), "--basic-auth"),
        (("https://me:hunter2@exam ple.com/sitemap.xml",), "cannot be used"),
    ],
)
def test_ours_what_cannot_be_asked_is_one_line_and_2(folder: Path, words: tuple[str, ...], says: str) -> None:
    ran = siteatlas(folder, "lint", *words)
    assert ran.code == 2
    assert says in ran.err
    assert len(ran.err.splitlines()) == 1
    assert "hunter2" not in ran.err + ran.out


def test_ours_rules_prints_the_table(folder: Path) -> None:
    ran = siteatlas(folder, "lint", "--rules")
    assert ran.code == 0
    assert "error   sitemap.dtd\n" in ran.out
    assert "https://www.sitemaps.org/protocol.html#location" in ran.out


def test_sitemaps_org_location_rule_needs_the_address_of_a_file(folder: Path) -> None:
    assert siteatlas(folder, "lint", "good.xml", "--url", "https://example.com/sitemap.xml").code == 0
    ran = siteatlas(folder, "lint", "good.xml", "--url", "https://example.com/sub/sitemap.xml")
    assert ran.code == 10
    assert "location.outside" in ran.out
    ran = siteatlas(folder, "lint", "good.xml", "bad.xml", "--url", "https://example.org/", "--format", "json")
    assert {("good.xml", "location.other_host"), ("bad.xml", "location.other_host")} <= rules(ran)


def test_ours_a_sitemap_outside_its_directory_is_one_finding_unless_robots_txt_names_it(
    folder: Path, site: Site
) -> None:
    index = '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>{}</loc></sitemap></sitemapindex>'
    urls = "".join(f"<url><loc>{site.url}p{number}</loc></url>" for number in range(75))
    child = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
    site.routes["/maps.xml"] = Answer(index.format(f"{site.url}maps/a.xml"), headers={"Content-Type": "text/xml"})
    site.routes["/maps/a.xml"] = Answer(child, headers={"Content-Type": "text/xml"})
    ran = siteatlas(folder, "lint", f"{site.url}maps.xml", "--rate", "0")
    assert ran.out.count("location.outside") == 1, ran.out
    assert "(and 74 more like this)" in ran.out
    site.routes["/robots.txt"] = Answer(f"Sitemap: {site.url}maps.xml", headers={"Content-Type": "text/plain"})
    ran = siteatlas(folder, "lint", f"{site.url}maps.xml", "--rate", "0")
    assert "location.outside" not in ran.out


def test_ours_a_folder_means_its_index_whose_files_lie_beside_it(folder: Path) -> None:
    ran = siteatlas(folder, "lint", "set", "--format", "json")
    told = json.loads(ran.out)
    assert told["counts"]["files"] == 3
    assert told["counts"]["entries"] == 3
    assert told["files"][0]["file"] == "set/sitemap.xml"
    assert [child["file"].rpartition("/")[2] for child in told["files"][0]["children"]] == ["one.xml", "two.xml.gz"]
    assert ("two.xml.gz", "duplicate.across_files") in rules(ran)
    (folder / "set" / "one.xml").unlink()
    ran = siteatlas(folder, "lint", "set", "--format", "json")
    assert ran.code == 10
    assert "index.child_unreadable" in {rule for _, rule in rules(ran)}
    alone = siteatlas(folder, "lint", "set", "--no-follow", "--format", "json")
    assert (alone.code, json.loads(alone.out)["counts"]["files"]) == (0, 1)


def test_ours_standard_input_is_read_as_a_stream(folder: Path) -> None:
    for packed in (False, True):
        text = urlset("https://example.com/", "ftp:oops").encode()
        ran = subprocess.run(
            command("lint", "-", "--format", "json"),
            cwd=folder,
            env=environment(),
            input=gzip.compress(text) if packed else text,
            capture_output=True,
            check=False,
        )
        assert ran.returncode == 10, ran.stderr
        found = json.loads(ran.stdout)["findings"]
        assert ("sitemap.loc_invalid", 4) in {(each["rule"], each["line"]) for each in found}


def test_ours_each_form_is_read_by_others(folder: Path) -> None:
    junit = siteatlas(folder, "lint", "bad.xml", "good.xml", "--format", "junit")
    suites = list(JUnitXml.fromstring(junit.out.encode()))
    assert [suite.name for suite in suites] == ["bad.xml", "good.xml"]
    sarif = siteatlas(folder, "lint", "bad.xml", "good.xml", "--format", "sarif")
    assert json.loads(sarif.out)["runs"][0]["results"][0]["ruleId"]
    assert junit.code == sarif.code == 10


def test_ours_an_index_by_url_is_read_with_its_children_one_by_one(folder: Path, site: Site) -> None:
    words = ("--no-cross-submits", "--format", "json", *NOW)
    ran = siteatlas(folder, "lint", f"{site.url}sitemap.xml", *words, anew=True)
    assert ran.code == 10
    told = json.loads(ran.out)
    assert (told["counts"]["files"], told["counts"]["entries"]) == (4, 3)
    assert ("two.xml.gz", "location.other_host") in rules(ran)
    assert f"{site.url}moved.xml redirects to {site.url}moved/here.xml" in ran.err
    assert site.paths == ["/sitemap.xml", "/one.xml", "/two.xml.gz", "/moved.xml", "/moved/here.xml"]


def test_ours_a_url_is_judged_where_its_redirects_end(folder: Path, site: Site) -> None:
    site.routes["/old.xml"] = Answer("", 308, {"Location": "/moved/here.xml"})
    ran = siteatlas(folder, "lint", f"{site.url}old.xml", *NOW)
    assert ran.code == 0, ran.out
    assert f"{site.url}old.xml redirects to {site.url}moved/here.xml" in ran.err


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        (Answer("gone", 404), "index.child_unreadable"),
        (Answer("<!doctype html><title>Sorry</title><p>Nothing here"), "sitemap.not_xml"),
        (Answer("", 302, {"Location": "/one.xml#"}), "index.child_unreadable"),
        (Answer("", 301, {"Location": "http://169.254.169.254/latest"}), "index.child_unreadable"),
        (Answer("", 301, {"Location": "http://127.0.0.1:9/x"}), "index.child_unreadable"),
    ],
)
def test_ours_a_child_that_is_not_there_is_a_finding(folder: Path, site: Site, answer: Answer, rule: str) -> None:
    if answer.status == 302:
        answer = Answer("", 302, {"Location": "/one.xml"})  # to itself
    site.routes["/one.xml"] = answer
    ran = siteatlas(folder, "lint", f"{site.url}sitemap.xml", "--no-cross-submits", "--format", "json", *NOW)
    assert ran.code == 10
    assert rule in {rule for _, rule in rules(ran)}


def test_ours_a_soft_404_is_no_sitemap(folder: Path, site: Site) -> None:
    site.routes["/sitemap.xml"] = "<!doctype html><html><title>Not found</title></html>"
    ran = siteatlas(folder, "lint", f"{site.url}sitemap.xml", *NOW)
    assert ran.code == 10
    assert "error sitemap.not_xml: " in ran.out


@pytest.mark.parametrize("status", [404, 500])
def test_ours_a_url_without_an_answer_ends_with_5(folder: Path, site: Site, status: int) -> None:
    site.routes["/sitemap.xml"] = Answer("no", status)
    ran = siteatlas(folder, "lint", f"{site.url}sitemap.xml", *NOW)
    assert (ran.code, ran.out) == (5, "")
    assert f"{site.url}sitemap.xml answered {status}, " in ran.err
    assert len(ran.err.splitlines()) == 1


def test_ours_a_host_that_refuses_ends_with_5(folder: Path) -> None:
    with scripted({}) as gone:
        url = gone.url
    ran = siteatlas(folder, "lint", f"{url}sitemap.xml", *NOW)
    assert ran.code == 5
    assert "refused the connection" in ran.err


def test_ours_a_server_that_fails_for_now_is_asked_again(folder: Path, site: Site) -> None:
    good = xml(urlset("{url}1"))
    site.routes["/sitemap.xml"] = lambda before: good if before else Answer("", 503, {"Retry-After": "1"})
    assert siteatlas(folder, "lint", f"{site.url}sitemap.xml", "--rate", "0", "--set=fetch.retries=1").code == 0


def test_ours_secrets_go_to_the_first_origin_only(folder: Path, site: Site) -> None:
    with scripted({"/other.xml": xml(urlset("{url}1"))}) as other:
        words = ("-H", "X-Key: hunter2", "--basic-auth", "me:hunter2", "-v", "--fail-on", "never")
        ran = siteatlas(folder, "lint", f"{site.url}one.xml", f"{other.url}other.xml", *words, *NOW)
        assert ran.code == 0, ran.err
        assert site.log[0][2]["x-key"] == "hunter2"
        assert site.log[0][2]["authorization"].startswith("Basic ")
        assert not {"x-key", "authorization"} & set(other.log[0][2])
    assert "hunter2" not in ran.out + ran.err


def test_sitemaps_org_cross_submits_ask_the_robots_of_other_hosts(folder: Path, site: Site) -> None:
    port = site.url.rsplit(":", 1)[1].strip("/")
    site.routes["/sitemap.xml"] = xml(urlset("{url}1", f"http://localhost:{port}/2"))
    site.routes["/robots.txt"] = Answer("Sitemap: {url}sitemap.xml")
    url = f"{site.url}sitemap.xml"
    named = siteatlas(folder, "lint", url, "--format", "json", *NOW, "--config", "hosts.toml")
    assert named.code == 2  # no such file
    (folder / "hosts.toml").write_text(f'[scope]\nhosts = ["localhost:{port}"]\n')
    asked = siteatlas(folder, "lint", url, "--format", "json", *NOW, "--config", "hosts.toml")
    assert (asked.code, "/robots.txt" in site.paths) == (0, True), asked.out
    refused = siteatlas(folder, "lint", url, "--format", "json", *NOW)  # a private host that nobody named
    assert rules(refused) == {("sitemap.xml", "location.other_host")}


def test_no_color_org_colour_is_for_terminals_that_want_it(folder: Path) -> None:
    assert "\x1b[31merror\x1b[0m" in siteatlas(folder, "lint", "bad.xml", FORCE_COLOR="1", TERM="xterm").out
    for wish in ({}, {"NO_COLOR": "1", "FORCE_COLOR": "1", "TERM": "xterm"}):
        assert "\x1b" not in siteatlas(folder, "lint", "bad.xml", **wish).out


def test_apache_a_packed_file_that_is_also_called_a_coding_is_not_mislabelled(folder: Path, site: Site) -> None:
    packed = gzip.compress(urlset(f"{site.url}1").encode())
    site.routes["/two.xml.gz"] = Answer(packed, headers={"Content-Encoding": "gzip"})
    ran = siteatlas(folder, "lint", f"{site.url}two.xml.gz", "--format", "json", *NOW)
    assert (ran.code, rules(ran)) == (0, set())
    site.routes["/two.xml.gz"] = xml(urlset(f"{site.url}1"))
    ran = siteatlas(folder, "lint", f"{site.url}two.xml.gz", "--format", "json", *NOW)
    assert rules(ran) == {("two.xml.gz", "sitemap.mislabelled")}


def test_ours_what_a_sitemap_says_never_reaches_a_terminal_as_it_is(folder: Path) -> None:
    hostile = "https://example.com/\u202e\u0085\u200f"
    (folder / "bad.xml").write_text(urlset(hostile + "#x"))
    (folder / "ix.xml").write_text(index(hostile + ".xml"))
    for words in (("bad.xml",), ("ix.xml",)):
        ran = siteatlas(folder, "lint", *words)
        assert ran.out + ran.err
        assert all(line.isprintable() for line in (ran.out + ran.err).split("\n")), words


def test_sitemaps_org_limits_are_findings(folder: Path) -> None:
    huge = urlset(*(f"https://example.com/{number}" for number in range(50_001)))
    (folder / "huge.xml").write_text(huge)
    assert "sitemap.too_many" in siteatlas(folder, "lint", "huge.xml").out


def test_ours_a_private_host_is_named_once_with_its_remedy(folder: Path, site: Site) -> None:
    with scripted({"/a.xml": xml(urlset("{url}1")), "/b.xml": xml(urlset("{url}2"))}) as other:
        site.routes["/sitemap.xml"] = xml(index(*(f"{other.url}{name}.xml" for name in ("a", "b", "c"))))
        words = ("lint", f"{site.url}sitemap.xml", "--no-cross-submits", "--only", "index.child_unreadable", *NOW)
        refused = siteatlas(folder, *words)
        where = other.url.removeprefix("http://").strip("/")
        assert (refused.code, refused.out.count("--host")) == (10, 1)
        assert f"--host {where} (and 2 more like this)" in refused.out
        allowed = siteatlas(folder, *words, "--host", where)
        assert "c.xml answered 404" in allowed.out
        assert allowed.out.count("index.child_unreadable") == 1


@pytest.mark.parametrize("named", [True, False])
def test_sitemaps_org_the_url_of_a_page_means_the_sitemaps_of_its_site(folder: Path, site: Site, named: bool) -> None:
    site.routes["/"] = "<!doctype html><html><title>Home</title></html>"
    site.routes["/robots.txt"] = Answer("Sitemap: {url}one.xml" if named else "", headers={})
    ran = siteatlas(folder, "lint", site.url, "--format", "json", *NOW)
    first = json.loads(ran.out)["files"][0]["file"]
    assert first == site.url + ("one.xml" if named else "sitemap.xml")
    assert f"{site.url} is not a sitemap; " in ran.err
    for path in ("/one.xml", "/sitemap.xml", "/robots.txt"):
        site.routes.pop(path)
    ran = siteatlas(folder, "lint", site.url, *NOW)
    assert (ran.code, ran.out) == (5, "")
    assert "Give the URL of the sitemap" in ran.err


def test_ours_as_many_findings_are_told_as_are_wanted(folder: Path) -> None:
    (folder / "many.xml").write_text(urlset(*(f"ftp://example.com/{number}" for number in range(30))))
    for words, told in (((), 20), (("--max-findings", "3"), 3), (("--max-findings", "0"), 30)):
        ran = siteatlas(folder, "lint", "many.xml", "--format", "json", *words)
        found = [each for each in json.loads(ran.out)["findings"] if each["rule"] == "sitemap.loc_invalid"]
        assert sum(each["times"] == 1 for each in found) == told
        assert sum(each["times"] for each in found) == 30


def test_ours_rules_are_chosen_by_family_and_by_environment(folder: Path) -> None:
    for words in (("--ignore", "sitemap"), ("--ignore", "lastmod,sitemap.*"), ("--only", "lastmod, location")):
        assert siteatlas(folder, "lint", "bad.xml", *words).out.endswith("\npasses\n")
    assert siteatlas(folder, "lint", "bad.xml", SITEATLAS_FAIL_ON="never").code == 0
    assert siteatlas(folder, "lint", "bad.xml", SITEATLAS_IGNORE="sitemap.loc_invalid,hint").code == 0
    assert siteatlas(folder, "lint", "bad.xml", SITEATLAS_FORMAT="json").out.startswith("{")


def test_ours_an_index_on_the_standard_input_says_what_is_missing(folder: Path) -> None:
    ran = subprocess.run(
        command("lint", "-"),
        cwd=folder,
        env=environment(),
        input=(folder / "set" / "sitemap.xml").read_bytes(),
        capture_output=True,
        check=False,
    )
    assert b"not checked: 2 child sitemaps were not read, so their contents were not checked" in ran.stdout
    assert b"give the file or the URL of the index instead" in ran.stdout


@pytest.mark.parametrize("name", ["crawl", "lint"])
def test_ours_help_fits_80_columns_and_cuts_nothing(folder: Path, name: str) -> None:
    ran = siteatlas(folder, name, "--help", COLUMNS="80")
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "…" not in ran.out
    for word in ("Examples:\n    siteatlas", "Exit codes:", "--set KEY=VALUE" if name == "crawl" else "--max-findings"):
        assert word in ran.out
    assert not {"<bool>", "52428800", "(10.0)"} & set(ran.out.split())


@pytest.mark.needs_nginx
def test_ours_a_published_set_on_nginx_passes(folder: Path) -> None:
    with nginx(folder / "set") as server:
        for name, locs in (("one.xml", ("1",)), ("two.xml", ("2", "3"))):
            (folder / "set" / name).write_text(urlset(*(server.url + loc for loc in locs)))
        (folder / "set" / "sitemap.xml").write_text(index(server.url + "one.xml", server.url + "two.xml"))
        ran = siteatlas(folder, "lint", f"{server.url}sitemap.xml", *NOW)
        assert ran.code == 0, ran.out
        assert "3 files, 3 entries: 0 errors" in ran.out
