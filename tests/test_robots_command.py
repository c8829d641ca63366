"""`siteatlas robots` as a person runs it: what it prints, and how it ends."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from run import siteatlas
from scripted import Answer, Site, scripted

NS = "http://www.sitemaps.org/schemas/sitemap/0.9"
NOW = ("--rate", "0", "--set=fetch.retries=0")
ASKS_NOBODY = "https://nowhere.invalid/"


@pytest.fixture
def site() -> Iterator[Site]:
    urlset = f'<urlset xmlns="{NS}"><url><loc>{{url}}</loc></url></urlset>'
    with scripted(
        {
            "/robots.txt": Answer("User-agent: *\n", headers={"Content-Type": "text/plain"}),
            "/sitemap.xml": Answer(urlset, headers={"Content-Type": "text/xml"}),
        }
    ) as running:
        yield running


def test_ours_what_is_wrong_is_told_with_the_line_to_paste_and_ends_with_10(tmp_path: Path, site: Site) -> None:
    ran = siteatlas(tmp_path, "robots", site.url, *NOW)
    assert (ran.code, ran.err) == (10, "")
    assert f"  PROBLEM  robots.txt does not name {site.url}sitemap.xml\n           add the line" in ran.out
    assert f"\nadd to {site.url}robots.txt (--patch FILE adds it to a local copy):\n\nSitemap: {site.url}" in ran.out
    assert ran.out.endswith("\n1 problem\n")


def test_ours_a_patched_robots_txt_is_well_also_when_the_sitemap_itself_is_named(tmp_path: Path, site: Site) -> None:
    assert siteatlas(tmp_path, "robots", site.url, "--patch", "robots.txt").code == 0
    body = (tmp_path / "robots.txt").read_text()
    site.routes["/robots.txt"] = Answer(body, headers={"Content-Type": "text/plain"})
    ran = siteatlas(tmp_path, "robots", f"{site.url}sitemap.xml", *NOW, "--json")
    told = json.loads(ran.out)
    assert (ran.code, told["exit_code"], told["sites"][0]["well"]) == (0, 0, True)
    assert told["sites"][0]["missing"] == {}
    assert {each["outcome"] for each in told["sites"][0]["checks"]} == {"ok"}


def test_ours_a_patch_asks_nobody_and_can_be_tried(tmp_path: Path) -> None:
    file = tmp_path / "robots.txt"
    file.write_text("User-agent: *\nDisallow:\n")
    words = ("robots", "--sitemap-url", f"{ASKS_NOBODY}docs/sitemap.xml", "--patch", "robots.txt")
    tried = siteatlas(tmp_path, *words, "--dry-run")
    assert tried.code == 0
    assert f"\n+Sitemap: {ASKS_NOBODY}docs/sitemap.xml\n" in tried.out
    assert file.read_text() == "User-agent: *\nDisallow:\n"
    added = siteatlas(tmp_path, *words)
    live = "crawlers see it once the site serves this file: after the next build or deploy, if one copies it"
    assert added.out == f"added to {file}:\n  Sitemap: {ASKS_NOBODY}docs/sitemap.xml\n{live}\n"
    once = file.read_bytes()
    again = siteatlas(tmp_path, *words)
    assert (again.code, again.out) == (0, f"{file} already names {ASKS_NOBODY}docs/sitemap.xml: nothing to add\n")
    assert file.read_bytes() == once


def test_ours_the_sites_of_a_configuration_are_checked_and_patched(tmp_path: Path, site: Site) -> None:
    (tmp_path / "sites.toml").write_text(
        f'[sites.one.site]\nurl = "{site.url}"\n[sites.docs.site]\nurl = "{site.url}docs/"\n'
        f'[sites.other.site]\nurl = "{ASKS_NOBODY}"\n'
    )
    config = ("robots", "--config", "sites.toml")
    both = ("--site", "one", "--site", "docs")
    ran = siteatlas(tmp_path, *config, *both, *NOW)
    assert ran.code == 10
    assert ran.out.index("== one ==") < ran.out.index("== docs ==")
    assert f"PROBLEM  {site.url}docs/sitemap.xml answered 404" in ran.out
    assert siteatlas(tmp_path, *config, *both, "--patch", ".").code == 0
    assert (tmp_path / "robots.txt").read_text().splitlines() == [
        f"Sitemap: {site.url}sitemap.xml",
        f"Sitemap: {site.url}docs/sitemap.xml",
    ]
    refused = siteatlas(tmp_path, *config, "--patch", ".")
    assert refused.code == 2
    assert "--patch edits only one" in refused.err


def test_ours_a_local_sitemap_that_no_run_wrote_is_not_called_ours(tmp_path: Path, site: Site) -> None:
    (tmp_path / "out").mkdir()
    served = f'<urlset xmlns="{NS}"><url><loc>{site.url}</loc></url></urlset>'
    (tmp_path / "out" / "sitemap.xml").write_text(served)
    told = siteatlas(tmp_path, "robots", site.url, "-o", "out", *NOW).out
    assert "\n  ?        the sitemap is identical to out/sitemap.xml, but no run with the state" in told
    assert "\n           siteatlas run with --replace" in told


@pytest.mark.parametrize(
    ("named", "redirects", "lacks"),
    [
        ("Sitemap: {url}wp-sitemap.xml", True, ""),
        ("Sitemap: {url}wp-sitemap.xml", False, ""),
        ("Sitemap: {url}gone.xml\nSitemap: {url}wp-sitemap.xml", True, ""),
        ("Sitemap: {url}gone.xml", True, "wp-sitemap.xml"),
        ("Sitemap: {url}gone.xml", False, "sitemap.xml"),
    ],
)
def test_ours_where_nobody_says_which_the_sitemap_that_the_site_has_is_meant(
    tmp_path: Path, site: Site, named: str, redirects: bool, lacks: str
) -> None:
    site.routes["/wp-sitemap.xml"] = site.routes["/sitemap.xml"]
    if redirects:
        site.routes["/sitemap.xml"] = Answer("", 301, {"Location": "/wp-sitemap.xml"})
    body = f"User-agent: *\n{named}\n".format(url=site.url)
    site.routes["/robots.txt"] = Answer(body, headers={"Content-Type": "text/plain"})
    told = json.loads(siteatlas(tmp_path, "robots", site.url, *NOW, "--json").out)["sites"][0]
    faults = [each["about"] for each in told["checks"] if each["outcome"] == "problem"]
    assert faults == (["sitemap.declared"] if lacks else [])
    assert told["missing"] == ({f"{site.url}robots.txt": [f"Sitemap: {site.url}{lacks}"]} if lacks else {})
    meant = ("robots", "--sitemap-url", f"{site.url}sitemap.xml", *NOW)
    assert siteatlas(tmp_path, *meant).code == 10


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no site is given. Use siteatlas robots https://www.example.com/"),
        ((ASKS_NOBODY, "--dry-run"), "--dry-run works only with --patch"),
        ((ASKS_NOBODY, "--patch", "none/robots.txt"), "of robots.txt does not exist"),
    ],
)
def test_ours_what_cannot_be_is_told_in_one_line(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    ran = siteatlas(tmp_path, "robots", *words)
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1


ROBOTS_ODDITIES = {
    "html": ("<!doctype html><title>Home</title>", "robots.txt is an HTML or XML page", "robots.txt is a web page"),
    "empty": ("", "robots.txt is empty, so everything is allowed", "robots.txt is empty"),
    "blank": ("\n \n", "robots.txt is empty, so everything is allowed", "robots.txt is empty"),
    "binary": (b"\x00\x01\x02\x7fELF" * 9, "robots.txt is binary data, not text", "robots.txt is binary data"),
    "long delay": (
        "User-agent: *\nCrawl-delay: 99\n",
        "line 2: Crawl-delay: 99 is longer than obey.max_crawl_delay",
        "",
    ),
    "no delay": ("User-agent: *\nCrawl-delay: ten\n", "line 2: Crawl-delay: ten is not a number of seconds", ""),
    "negative": ("User-agent: *\nCrawl-delay: -1\n", "line 2: Crawl-delay: -1 is not a number of seconds", ""),
    "nan": ("User-agent: *\nCrawl delay: nan\n", "line 2: Crawl delay: nan is not a number of seconds", ""),
}
"""Bodies, with the note of a crawl and the words of ``siteatlas robots`` ("": the same)."""


@pytest.mark.parametrize("kind", ROBOTS_ODDITIES)
def test_ours_an_odd_robots_txt_gets_one_note(tmp_path: Path, kind: str) -> None:
    body, note, check = ROBOTS_ODDITIES[kind]
    robots = Answer(body, headers={"Content-Type": "text/plain"})
    with scripted({"/": "<title>A</title>", "/robots.txt": robots}) as site:
        words = (
            "--set=obey.max_crawl_delay=0.05",
            "--set=scope.sitemap_seeds=false",
            "--state",
            "s",
            "-o",
            "o",
            "--set=output.swap_delay=0",
        )
        ran = siteatlas(tmp_path, "crawl", site.url, *words)
        assert ran.code == 0, ran.err
        assert ran.out.count(note) == 1, ran.out
        assert ran.out.count("robots.txt") == 1, ran.out
        checked = siteatlas(tmp_path, "robots", site.url)
        assert (check or note) in checked.out, checked.out


def test_ours_an_ordinary_robots_txt_gets_no_note(tmp_path: Path) -> None:
    robots = Answer("User-agent: *\nCrawl-delay: 0.01\nDisallow:\n", headers={"Content-Type": "text/plain"})
    with scripted({"/": "<title>A</title>", "/robots.txt": robots}) as site:
        ran = siteatlas(tmp_path, "crawl", site.url, "--state", "s", "-o", "o", "--set=output.swap_delay=0")
        assert (ran.code, "robots.txt" in ran.out) == (0, False)


def test_ours_without_a_url_the_configuration_here_counts(tmp_path: Path) -> None:
    (tmp_path / "siteatlas.toml").write_text('site.url = "https://www.example.com/"\noutput.directory = "out"\n')
    for words, origin in (((), "www.example.com"), (("https://other.example/",), "other.example")):
        ran = siteatlas(tmp_path, "robots", *words, "--patch", f"{origin}.txt")
        assert ran.code == 0, ran.err
        assert (tmp_path / f"{origin}.txt").read_text() == f"Sitemap: https://{origin}/sitemap.xml\n"
    for command in ("notify", "rollback"):
        assert "no site is given" not in siteatlas(tmp_path, command).err
