"""Entries under another name of the site, held against a real crawl."""

from pathlib import Path

from audited_sitemaps import findings, page, plan_of, urlset, xml
from scripted import Answer, Site

from crawler.audit.host_aliases import MAX_ALIAS_URLS
from crawler.config.plan import CrawlPlan


def with_www(site: Site, tmp: Path) -> tuple[str, str, CrawlPlan]:
    """The names of a site without and with ``www.``, both served here, and the plan to audit the first."""
    port = site.url.rsplit(":", 1)[1].strip("/")
    names = ["shop.example", "www.shop.example"]
    resolve = [f"{name}:{port}:127.0.0.1" for name in names]
    home, www = (f"http://{name}:{port}/" for name in names)
    return home, www, plan_of(home, tmp, fetch={"retries": 0, "resolve": resolve})


def test_ours_entries_under_another_name_of_the_site_are_asked_for(site: Site, tmp_path: Path) -> None:
    """``www.`` before the site's name, on a server that knows both: as most migrations leave it."""
    home, www, plan = with_www(site, tmp_path)
    site.routes |= {
        "/": page("/a", "/b", "/c"),
        "/a": page(says="first"),
        "/b": page(head=f'<link rel="canonical" href="{home}b">', says="second"),
        "/c": page(says="third"),
        "/moved": Answer("", 301, {"Location": f"{home}c"}),
        "/sitemap.xml": xml(
            urlset(*(f"{www}{name}" for name in ("a", "b", "c", "moved", "lost")), f"{home}c", f"https{home[4:]}a")
        ),
    }
    found = findings(plan)
    entries = {rule: [each.url for each in told] for rule, told in found.items() if rule.startswith("entry.")}
    assert (
        entries
        == {
            "entry.outside": [f"{www}a"],  # which answers as if it were the site
            "entry.canonical": [f"{www}b"],
            "entry.duplicate": [f"{home}c"],
            "entry.redirect": [f"{www}moved"],
            "entry.gone": [f"{www}lost"],
            "entry.failed": [f"https{home[4:]}a"],
        }
    )
    assert not [rule for rule in found if rule.startswith("location.")]
    assert f"listed under {www[:-1]}, but the site is {home[:-1]}" in found["entry.outside"][0].sentence


def test_ours_entries_under_another_name_that_cannot_be_asked_for_are_counted(site: Site, tmp_path: Path) -> None:
    _, www, plan = with_www(site, tmp_path)
    site.routes |= {"/": page("/a"), "/a": page()}
    site.routes["/sitemap.xml"] = xml(urlset(*(f"{www}p{number}" for number in range(MAX_ALIAS_URLS + 50))))
    found = findings(plan)
    (told,) = found["entry.outside"]
    assert (told.url, told.times) == (f"{www}p{MAX_ALIAS_URLS}", 50)
    assert told.sentence.startswith(f"50 entries are listed under {www[:-1]}, but the site is ")
    assert len(found["entry.gone"]) == MAX_ALIAS_URLS
    assert sum(path.startswith("/p") for path in site.paths) == 2 * MAX_ALIAS_URLS + 50
