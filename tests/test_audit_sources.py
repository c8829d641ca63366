"""What an audit takes from its sources: pages with names of files, logs of folders, people and scanners, soft 404s."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audited import FAST, Command, in_process, line, log, page, pages, robots, sitemap
from scripted import Answer, Route, scripted

from crawler.crawl.soft_404 import impossible_url
from sitemap.namespaces import SITEMAP


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    with in_process(tmp_path, monkeypatch, capsys) as command:
        yield lambda *words: command("audit", *words, *FAST)


def report() -> dict[str, Any]:
    told: dict[str, Any] = json.loads(Path("out", "audit.json").read_bytes())
    return told


def found(rule: str) -> set[str]:
    """The paths of the findings of a rule, or of a family of rules ("orphan.")."""
    return {
        "/" + each["url"].split("/", 3)[-1]
        for each in report()["findings"]
        if each["rule"] == rule or (rule.endswith(".") and each["rule"].startswith(rule))
    }


def test_ours_a_sitemap_that_an_index_names_is_read_once(audit: Command) -> None:
    """Robots.txt names the index, and the index names the sitemap at the usual path."""
    index = f"<sitemapindex xmlns='{SITEMAP}'><sitemap><loc>{{url}}sitemap.xml</loc></sitemap></sitemapindex>"
    routes = {
        **pages(),
        "/robots.txt": robots("Sitemap: {url}index.xml"),
        "/index.xml": Answer(index, headers={"Content-Type": "application/xml"}),
    }
    with scripted(routes) as site:
        assert audit(site.url, "-o", "out").code == 0
        assert site.paths.count("/sitemap.xml") <= 2  # by the crawl and by the audit
    assert not found("duplicate.")
    assert [each["name"] for each in report()["inputs"] if each["source"] == "sitemap"] == [f"{site.url}index.xml"]


def test_ours_an_entry_of_each_sitemap_is_named_by_its_own_file(audit: Command) -> None:
    named = {**pages(), "/robots.txt": robots("Sitemap: {url}sitemap.xml\nSitemap: {url}other.xml")}
    with scripted({**named, "/other.xml": sitemap("lost")}) as site:
        assert audit(site.url, "-o", "out").code == 0
        (orphan,) = [each for each in report()["findings"] if each["rule"] == "orphan.sitemap"]
        told = [text.partition(": ")[0].rpartition(":")[0] for text in orphan["evidence"]]
        assert sorted(told) == [f"sitemap {site.url}{name}.xml" for name in ("other", "sitemap")]


# ---------------------------------------------------------------- a page is a page, whatever its path ends in

IMAGE = Answer(b"\x89PNG\r\n\x1a\n", headers={"Content-Type": "image/png"})


def wiki() -> dict[str, Route]:
    """Pages with names of files: linked, listed, in logs only, and gone; and files."""
    return {
        **pages(),
        "/": page("/hub/", "/plain", "/tech/node.js", "/tech/unlisted.css", "/wiki/File:Logo.png"),
        "/sitemap.xml": sitemap(
            *("", "hub/", "hub/one", "hub/two", "plain", "lost", "tech/node.js", "wiki/File:Logo.png"),
            *("tech/gone.js", "wiki/File:Lost.png"),
        ),
        "/tech/node.js": page("/"),
        "/tech/unlisted.css": page("/"),
        "/tech/in-logs.js": page("/"),
        "/wiki/File:Logo.png": page("/"),
        "/wiki/File:Lost.png": page("/"),
        "/alone/story.csv": page("/"),
        "/static/logo.png": IMAGE,
        "/static/other.png": IMAGE,
    }


def test_ours_a_page_is_a_page_whatever_its_path_ends_in(audit: Command) -> None:
    files = [f"/static/{name}.png" for name in ("logo", "logo", "other", "dead")]
    named = ["/tech/node.js", "/tech/in-logs.js", "/wiki/File:Logo.png", "/alone/story.csv", "/favicon.ico"]
    Path("access.log").write_text(log(*named, *files) + log("/tech/old.js", status=404) + log("/tech/gone.js"))
    with scripted(wiki()) as site:
        ran = audit(site.url, "--log", "access.log", "-o", "out")
        assert ran.code == 0, ran.err
        assert found("listed.missing") == {"/tech/unlisted.css"}
        assert found("orphan.") == {"/lost", "/wiki/File:Lost.png", "/tech/in-logs.js", "/alone/story.csv"}
        assert found("entry.") == {"/tech/gone.js"}
        assert found("gone.visited") == {"/tech/gone.js", "/tech/old.js"}
        assert "somebody requests it, but it answered 404" in ran.out  # and never otherwise: it may have been so always
        asked = {path for path in site.paths if path.startswith("/static/")}
        assert asked == {"/static/logo.png"}  # one of them shows what the others are
    (source,) = [each for each in report()["inputs"] if each["source"] == "log"]
    assert source["ignored"] == {"method": 0, "own": 0, "file": 50}
    assert (source["used"], source["beside"]) == (60, 50)
    assert "50 for URLs that end like files (.png 40, .ico 10)" in " ".join(source["notes"])


# ---------------------------------------------------------------- logs


@pytest.mark.parametrize(
    ("flag", "name", "text", "why"),
    [
        ("--log", "x.log", "shop.example.net " + line("/a"), "is for another site ('shop.example.net')"),
        ("--log", "x.log", "#Fields: cs-uri-stem sc-status\na b c\n", "1 of 1 lines of x.log are not in the format"),
        ("--search", "x.csv", "Page,Clicks\nhttps://shop.example.net/,1\n", "belong to shop.example.net"),
    ],
)
def test_ours_a_source_of_which_nothing_can_be_used_is_an_error(
    audit: Command, flag: str, name: str, text: str, why: str
) -> None:
    """An empty log is none, nor one with requests that do not count, nor a glob of which another file is used."""
    Path(name).write_text(text)
    used = {"--log": line("/plain"), "--search": ""}[flag]
    Path("good.log").write_text(line("/plain"))
    Path("empty.log").touch()
    Path("post.log").write_text(line("/plain").replace("GET", "POST"))
    with scripted(pages()) as site:
        for others in ((), ("--log", "good.log"), ("--log", "empty.log", "--log", "post.log")):
            ran = audit(site.url, flag, name, *others)
            assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
            assert f"nothing in {flag} {name} can be used: " in ran.err
            assert why in ran.err
        assert audit(site.url, "--log", "empty.log", "--log", "post.log").code == 0
        if used:
            assert audit(site.url, "--log", "*.log").code == 0


def test_ours_a_log_of_two_sites_without_host_names_proves_nothing_alone(audit: Command) -> None:
    ours = log("/plain", "/hub/", "/hub/one", "/asked", *["/"] * 9)
    theirs = log(*(f"/theirs/{n}" for n in range(7)))
    gone = log("/bought") + log("/bought", status=404)
    Path("access.log").write_text(ours + theirs + gone)
    Path("backlinks.csv").write_text("Target URL,Referring domains\n/bought,4\n")
    with scripted(pages()) as site:
        words = (site.url, "-o", "out", "--backlinks", "backlinks.csv", "--log", "access.log")
        ran = audit(*words)
        assert ran.code == 0, ran.err
        certain = {
            each["url"] for each in report()["findings"] if each["rule"] == "gone.visited" and each["is_certain"]
        }
        assert certain == {f"{site.url}bought"}
        assert found("gone.visited") == {"/bought", *(f"/theirs/{n}" for n in range(7))}
        assert found("orphan.") == {"/lost", "/asked"}
        (source,) = [each for each in report()["inputs"] if each["source"] == "log"]
        assert "7 of 12 pages in the log do not exist on this site" in source["doubt"]
        assert "$host" in source["doubt"]
        assert "may contain requests for another site" in " ".join(ran.out.split())
        ran = audit(*words, "--fail-on", "gone.visited")
        assert ran.code == 10  # of the others nobody knows
        assert f"--fail-on names: gone.visited ({site.url}bought)" in ran.err
        assert audit(*words, "--fail-on", "gone.visited", "--set=audit.trust_logs=true").code == 10
        assert all(each["is_certain"] for each in report()["findings"])


@pytest.mark.parametrize("last_status", [200, 404])
def test_ours_a_log_of_one_site_proves_what_has_gone(audit: Command, last_status: int) -> None:
    """Some pages went after their last visit; or a section went, and visitors met the 404."""
    gone = [f"/gone/{n}" for n in range(2 if last_status == 200 else 9)]
    text = log("/plain", "/hub/", "/hub/one", "/hub/two", *gone)
    Path("access.log").write_text(text + "".join(log(path, status=404) for path in gone if last_status == 404))
    with scripted(pages()) as site:
        assert audit(site.url, "-o", "out", "--log", "access.log").code == 0
    assert found("gone.visited") == set(gone)
    assert all(each["is_certain"] for each in report()["findings"])


# ---------------------------------------------------------------- people and scanners

CHROME = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/130.0.0.0 Safari/537.36"


def scan(names: list[str], addresses: int = 4, times: int = 2, agent: str = CHROME) -> str:
    """Requests of scanners that call themselves browsers, each for every name."""
    return "".join(
        line(name, 404, day, 100 + who, agent)
        for who in range(addresses)
        for day in range(1, times + 1)
        for name in names
    )


def test_ours_clients_whose_requests_fail_are_no_people_whatever_they_ask_for(audit: Command) -> None:
    names = [f"/{word}/{n}.php" for n in range(40) for word in ("plugins", "upload")]  # on no list of probes
    people = log("/plain", "/hub/", "/hub/one", "/style.css", "/") + log("/bookmarked", status=404)
    Path("access.log").write_text(people + scan(names) + scan(["/bookmarked"], times=9) + scan(["/plain"]))
    with scripted(pages()) as site:
        assert audit(site.url, "-o", "out", "--log", "access.log").code == 0
        assert found("gone.visited") == {"/bookmarked"}
        assert not set(names) & set(site.paths)  # and they cost no request
    (finding,) = [each for each in report()["findings"] if each["rule"] == "gone.visited"]
    assert (finding["people"], finding["bots"], finding["addresses"]) == (10, 36, 5)
    assert "people got errors from 5 addresses" in finding["evidence"]
    stored = b"".join(path.read_bytes() for path in Path().rglob("*") if path.is_file() and path.name != "access.log")
    assert b"192.0.2." not in stored


def test_ours_clients_that_ask_for_what_nothing_links_are_no_people(audit: Command) -> None:
    """They read the site too."""
    names = [f"/guess-{n}/" for n in range(20)]
    reading = "".join(line("/plain", 200, 5, 100 + who, CHROME) for who in range(4) for _ in range(60))
    Path("access.log").write_text(scan(names) + log("/plain", "/hub/") + reading)
    with scripted(pages()) as site:
        assert audit(site.url, "-o", "out", "--log", "access.log").code == 0
    assert found("gone.visited") == set()


@pytest.mark.parametrize("readers", [0, 1, 12])
def test_ours_a_page_that_scanners_found_has_no_visits_by_people(audit: Command, readers: int) -> None:
    """Most of their requests fail; those that succeed are no visits either. People may read the page as well."""
    hits = "".join(line("/asked", 200, 5, 100 + who, CHROME) for who in range(4) for _ in range(3))
    people = "".join(line("/asked", 200, 6, 10 + who) for who in range(readers) for _ in range(3))
    Path("access.log").write_text(log("/plain") + scan([f"/guess-{n}/" for n in range(20)]) + hits + people)
    with scripted(pages()) as site:
        assert audit(site.url, "-o", "out", "--log", "access.log").code == 0
    counts = [(each["people"], each["bots"]) for each in report()["findings"] if each["rule"] == "orphan.log"]
    # of many visitors, nobody tells the scanners: more than a few people read the page
    assert counts == {0: [], 1: [(3, 12)], 12: [(48, 0)]}[readers]


@pytest.mark.parametrize("agent", ["GPTBot/1.2", "UptimeRobot/2.0", "curl/8.5.0"])
def test_ours_pages_that_only_machines_request_are_counted(audit: Command, agent: str) -> None:
    Path("access.log").write_text(log("/plain") + line("/asked", 200, 5, 9, agent) * 9)
    with scripted(pages()) as site:
        ran = audit(site.url, "-o", "out", "--log", "access.log")
        told = f"only bots that are no search engines requested 1 page without links, such as {site.url}asked"
    assert told in " ".join(ran.out.split())
    assert found("orphan.") == {"/lost"}


def test_ours_people_who_follow_old_links_stay_people(audit: Command) -> None:
    """A section has gone: its readers meet nothing else, each a page or two, and some read on."""
    gone = [f"/news/{n}" for n in range(8)]
    lines = [line(gone[(who + n) % 8], 404, 1 + who % 20, who) for who in range(1, 80) for n in range(2)]
    linked = [line(f"/linked-{n}", 404, 3, 200) for n in range(9)] + [line("/plain", 200, 3, 200)] * 9
    Path("access.log").write_text("".join(lines + linked * 5))
    routes = {**pages(), "/plain": page("/", *(f"/linked-{n}" for n in range(9)))}
    with scripted(routes) as site:
        assert audit(site.url, "-o", "out", "--log", "access.log").code == 0
    assert found("gone.visited") == {*gone, *(f"/linked-{n}" for n in range(9))}


# ---------------------------------------------------------------- what Googlebot does not read


def test_google_a_page_over_two_megabytes_is_a_finding_with_what_it_loses(audit: Command) -> None:
    large = f"{page('/')}<!--{'x' * 2_000_000}--><a href='/lost'>Lost</a>"
    with scripted({**pages(), "/plain": large}) as site:
        ran = audit(site.url, "-o", "out")
        assert ran.code == 0, ran.err
        assert found("google.size") == {"/plain"}
        (finding,) = (each for each in report()["findings"] if each["rule"] == "google.size")
        assert f"1 link (such as {site.url}lost)" in finding["sentence"]
        assert "render" in report()["absent"]


# ---------------------------------------------------------------- soft 404s


def nothing_here(name: str) -> Answer:
    """What a shop says of a name that it does not know, under the status 200."""
    words = f"<h1>Sorry</h1><p>We could not find {name} in our shop. Try the search, or go to the start page.</p>"
    return Answer(f"<html><title>Nothing here</title><body><nav><a href='/'>Start</a></nav>{words}</body></html>")


def test_google_a_page_that_says_what_the_site_says_of_nothing_is_a_soft_404(audit: Command) -> None:
    frame = "<html><title>{}</title><body><nav><a href='/'>Start</a></nav><h1>{}</h1><p>{}</p></body></html>"
    near = {
        "/shop/sold": Answer(frame.format("Red boat", "Red boat", "Sorry, this boat is sold out. Try the search.")),
        "/shop/thin": Answer(frame.format("Nothing here", "Thin", "Three words only.")),
        "/search": Answer(frame.format("Nothing here", "Search", "We could not find boats in our shop.")),
    }
    gone = ["/shop/old-boat", "/shop/2024/old-oar/"]
    kept = [f"/shop/{n}" for n in range(6)]
    listed = [path[1:] for path in (*gone, *near, *kept)]
    routes = {
        **pages(),
        "/": page("/hub/", "/plain", "/lost", "/shop/typo", *near, *kept),
        "/sitemap.xml": sitemap("", "hub/", "hub/one", "hub/two", "plain", "lost", *listed),
        **near,
        **{path: page("/") for path in kept},
        **{path: nothing_here(path) for path in (*gone, "/shop/typo")},
    }
    with scripted(routes) as site:
        for directory in ("", "shop/"):
            lost = f"/{impossible_url(f'{site.url}{directory}').split('/', 3)[3]}"
            site.routes[lost] = nothing_here(lost)
        ran = audit(site.url, "-o", "out")
        assert ran.code == 0, ran.err
    assert found("gone.") == {*gone, "/shop/typo"}
    assert found("orphan.") == set()
    assert found("listed.missing") == set()


# ---------------------------------------------------------------- copies


@pytest.mark.parametrize("copy", ["print=0", "sid=x1"])
def test_ours_a_copy_is_neither_to_be_listed_nor_wrong_about_its_language(audit: Command, copy: str) -> None:
    """Copies without a canonical, one that is linked and one that only the log names."""

    def version(number: int) -> Answer:
        links = "".join(
            f'<link rel="alternate" hreflang="{code}" href="{site.url}{path}">'
            for code, path in (("en", "en"), ("de", "de"), ("x-default", "en"))
        )
        text = f"<p>Version {number} of the page about boats.</p>" + '<a href="/">home</a>'
        return Answer(f'<html lang="{("en", "de")[number]}"><head><title>{number}</title>{links}</head>{text}'.encode())

    with scripted(pages()) as site:
        routes = {f"/{name}{query}": version(n) for n, name in enumerate(("en", "de")) for query in ("", f"?{copy}")}
        site.routes.update(routes)
        site.routes["/"] = page("/hub/", "/plain", "/en", "/de", f"/en?{copy}")
        site.routes["/sitemap.xml"] = sitemap("", "hub/", "hub/one", "hub/two", "plain", "lost", "en", "de")
        Path("x.log").write_text(log(f"/de?{copy}"))
        assert audit(site.url, "--log", "x.log", "-o", "out").code == 0
        assert (found("cluster."), found("listed.missing"), found("orphan.")) == (set(), set(), {"/lost"})
