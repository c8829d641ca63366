"""URLs that may change something are not requested, whoever names them, and the report lists them."""

import csv
from pathlib import Path

import pytest
from run import siteatlas
from scripted import links, scripted

from sitemap import read

ACTS = [
    *("/logout", "/vote?poll=3&answer=2", "/delete?id=3", "/cart/add?id=5", "/unsubscribe/joe.doe@example.com"),
    *("/confirm?hash=d41d8cd98f00b204e9800998ecf8427e", "/order?name=Jane+Doe&phone=%2B491701234567", "/rate?stars=5"),
]
ORPHANS = ["/summer-sale", "/how-to-vote.html", "/docs/delete/", "/shop?page=9"]


def line(path: str) -> str:
    return (
        f'192.0.2.7 - - [01/Jul/2026:10:00:00 +0000] "GET {path} HTTP/1.1" 200 512 "-" '
        '"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"\n'
    )


def not_asked(folder: Path) -> list[str]:
    with (folder / "r" / "csv" / "not-asked.csv").open(encoding="utf-8-sig") as file:
        return [row["URL"] for row in csv.DictReader(file)]


@pytest.mark.parametrize("source", ["--log", "--list"])
def test_ours_an_audit_requests_no_url_that_acts_and_finds_the_orphans(tmp_path: Path, source: str) -> None:
    routes = dict.fromkeys(ACTS + ORPHANS, "<title>Done</title>Thank you")
    with scripted({**routes, "/": links("/a"), "/a": "<title>A</title>x"}) as site:
        text = "".join(line(path) * 9 if source == "--log" else f"{path}\n" for path in ACTS + ORPHANS)
        (tmp_path / "named.txt").write_text(text)
        words = ("audit", site.url, source, "named.txt", "-o", "r", "--state", "s", "--rate", "0")
        ran = siteatlas(tmp_path, *words)
        assert ran.code in (0, 10), ran.err
        assert [path for path in site.paths if path in ACTS] == []
        assert {*ORPHANS} <= {*site.paths}
        assert "not asked: 8 URLs" in ran.out
        listed = not_asked(tmp_path)
        assert len(listed) == len(ACTS)
        kept = [path.read_bytes() for part in "rs" for path in (tmp_path / part).rglob("*") if path.is_file()]
        for secret in (b"joe.doe", b"Jane", b"1701234567", b"d41d8cd98f00b204"):
            assert not [1 for content in kept if secret in content], secret
        assert siteatlas(tmp_path, *words, "--set=scope.ask_all=true").code in (0, 10)
        assert {"/logout", "/vote?poll=3&answer=2", "/rate?stars=5"} <= {*site.paths}
        assert "/order?name=Jane+Doe&phone=%2B491701234567" not in site.paths  # it is masked, and no URL any more


def test_ours_a_crawl_requests_a_link_that_acts_only_if_a_sitemap_lists_it(tmp_path: Path) -> None:
    acting = ["/logout", "/cart/add?id=5", "/delete/5"]
    honest = ["/docs/delete/", "/how-to-vote.html", "/vote", "/tag/vote?page=2"]
    routes = {path: f"<title>{path}</title>x" for path in acting + honest}
    with scripted({**routes, "/": links(*acting, *honest)}) as site:
        listed = f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>{site.url}delete/5</loc></url>"
        site.routes["/sitemap.xml"] = f"{listed}</urlset>"
        ran = siteatlas(tmp_path, "crawl", site.url, "-o", "out", "--rate", "0")
        assert ran.code == 0, ran.err
        assert [path for path in site.paths if path in acting] == ["/delete/5"]
        assert {entry.loc for entry in read(tmp_path / "out" / "sitemap.xml")} == {
            site.url,
            *(site.url + path[1:] for path in [*honest, "/delete/5"]),
        }
        assert "2  action" in ran.out
        assert siteatlas(tmp_path, "crawl", site.url, "-o", "out", "--rate", "0", "--set=scope.ask_all=true").code == 0
        assert {*acting} <= {*site.paths}
