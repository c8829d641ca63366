"""The dates of entries, held against what audits saw of the pages."""

from pathlib import Path

from audited_sitemaps import audited, clock, page, url, urlset, xml
from scripted import Site


def test_ours_a_date_between_two_audits_that_saw_the_same_is_late(site: Site, tmp_path: Path) -> None:
    site.routes |= {"/": page("/a"), "/a": page(), "/sitemap.xml": xml(urlset(url("{url}a", "2026-03-20")))}
    first = audited(site, tmp_path, clock=clock("2026-03-01"))
    assert not first.urls("entry.lastmod_late")
    (late,) = audited(site, tmp_path, clock=clock("2026-04-01")).findings["entry.lastmod_late"]
    assert "the page had the same content on 2026-03-01" in late.sentence


def test_ours_a_date_before_a_change_that_was_seen_is_early(site: Site, tmp_path: Path) -> None:
    site.routes |= {"/": page("/a"), "/a": page(), "/sitemap.xml": xml(urlset(url("{url}a", "2026-02-01")))}
    audited(site, tmp_path, clock=clock("2026-03-01"))
    site.routes["/a"] = page(head="<title>Other words</title>", says="All of this was written anew, and says more.")
    (early,) = audited(site, tmp_path, clock=clock("2026-04-01")).findings["entry.lastmod_early"]
    assert "the page had different content on 2026-03-01" in early.sentence
    (early,) = audited(site, tmp_path, clock=clock("2026-05-01")).findings["entry.lastmod_early"]
    assert "a crawl saw it change on 2026-04-01" in early.sentence
