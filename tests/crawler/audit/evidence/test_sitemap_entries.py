"""The entries of sitemaps, held against a real crawl of a real server."""

from pathlib import Path

from audited_sitemaps import audited, clock, page, url, urlset, xml
from scripted import Answer, Site


def test_google_each_fault_of_an_entry_is_found_and_nothing_else(site: Site, tmp_path: Path) -> None:
    modified = '<meta property="article:modified_time" content="{}">'
    site.routes |= {
        "/robots.txt": Answer("User-agent: *\nDisallow: /secret", headers={"Content-Type": "text/plain"}),
        "/": page("/good"),
        "/good": page(),
        "/failed": Answer("", 500),
        "/moved": Answer("", 301, {"Location": "/moved2"}),
        "/moved2": Answer("", 302, {"Location": "/good"}),
        "/quiet": page(head='<meta name="robots" content="noindex">'),
        "/google": page(head='<meta name="googlebot" content="noindex">'),
        "/bing": Answer(page().body, headers={"X-Robots-Tag": "bingbot: noindex"}),
        "/other": Answer(
            page(head='<meta name="AhrefsBot" content="noindex">').body, headers={"X-Robots-Tag": "AhrefsBot: noindex"}
        ),
        "/copy": page(head='<link rel="canonical" href="/good">'),
        "/late": page(head=modified.format("2026-01-05T10:00:00Z")),
        "/early": page(head=modified.format("2026-03-05T10:00:00Z")),
        "/right": page(head=modified.format("2026-02-01T10:00:00Z")),
        "/sitemap.xml": xml(
            urlset(
                *("{url}", "{url}good", "{url}gone", "{url}failed", "{url}moved", "{url}quiet", "{url}secret"),
                *("{url}google", "{url}bing", "{url}other"),
                *("{url}copy", "{url}good?utm_source=letter", "{url}good?utm_source=post", "{url}gone?gclid=1"),
                *(url(f"{{url}}{name}", "2026-02-01") for name in ("late", "early", "right")),
            )
        ),
    }
    found = audited(site, tmp_path)
    assert {rule: found.urls(rule) for rule in found.findings if rule.startswith("entry.")} == {
        "entry.gone": ["gone", "gone"],
        "entry.failed": ["failed"],
        "entry.redirect": ["moved"],
        "entry.noindex": ["quiet"],
        "entry.noindex_engine": ["bing", "google"],
        "entry.blocked": ["secret"],
        "entry.canonical": ["copy"],
        "entry.duplicate": ["good"],
        "entry.lastmod_late": ["late"],
        "entry.lastmod_early": ["early"],
    }
    (moved,) = found.findings["entry.redirect"]
    assert f"finally to {site.url}good" in moved.sentence
    assert (moved.file, moved.line, moved.status) == (f"{site.url}sitemap.xml", 6, 301)
    (copy,) = found.findings["entry.canonical"]
    for each in (moved, copy):  # it is said there, and no duplicate
        assert f"{site.url}good is listed too ({site.url}sitemap.xml line 3): remove this entry" in each.evidence
    (several,) = found.findings["entry.duplicate"]
    assert {each.removeprefix(site.url) for each in several.spellings} == {
        *("good?utm_source=letter", "good?utm_source=post")
    }


def test_ours_an_entry_that_was_not_asked_for_is_not_judged(site: Site, tmp_path: Path) -> None:
    site.routes |= {"/": page("/good"), "/good": page(), "/sitemap.xml": xml(urlset("{url}gone", "{url}good"))}
    found = audited(site, tmp_path, audit={"max_unlinked": 0})
    assert not [rule for rule in found.findings if rule.startswith("entry.")]


def test_ours_a_page_that_no_longer_says_noindex_says_what_it_said(site: Site, tmp_path: Path) -> None:
    site.routes |= {"/": page("/a"), "/sitemap.xml": xml(urlset(url("{url}a", "2026-02-01")))}
    site.routes["/a"] = page(head='<meta name="robots" content="noindex">', says="The same.")
    audited(site, tmp_path, clock=clock("2026-03-01"))
    site.routes["/a"] = page(says="The same.")
    assert not audited(site, tmp_path, clock=clock("2026-04-01")).urls("entry.lastmod_early")
