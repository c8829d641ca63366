"""The clusters of languages that sitemaps, pages and headers state, held against a real crawl."""

from pathlib import Path

import pytest
from audited_sitemaps import audited, page, url, urlset, xml
from scripted import Answer, Site


def variants(how: str, **labels: str) -> str:
    """Tags or a header that name versions by their paths."""
    named = [(label.replace("_", "-"), path) for label, path in labels.items()]
    if how == "header":
        return ", ".join(f'<{path}>; rel="alternate"; hreflang="{label}"' for label, path in named)
    if how == "sitemap":
        return "".join(
            f'<xhtml:link rel="alternate" hreflang="{label}" href="{{url}}{path[1:]}"/>' for label, path in named
        )
    return "".join(f'<link rel="alternate" hreflang="{label}" href="{path}">' for label, path in named)


FIVE = {"en": "/en", "de": "/de", "fr": "/fr", "pt_BR": "/pt", "zh_Hant": "/zh", "x_default": "/en"}


@pytest.mark.parametrize("how", ["html", "header", "sitemap"])
def test_google_a_sound_cluster_yields_nothing(site: Site, tmp_path: Path, how: str) -> None:
    said = variants(how, **FIVE)
    pages = {path: label.replace("_", "-") for label, path in FIVE.items() if label != "x_default"}
    site.routes["/"] = page(*pages)
    for path, lang in pages.items():
        answer = page(head=said if how == "html" else "", lang=lang)
        site.routes[path] = Answer(answer.body, headers={"Link": said}) if how == "header" else answer
    entries = (url(f"{{url}}{path[1:]}", inner=said if how == "sitemap" else "") for path in pages)
    site.routes["/sitemap.xml"] = xml(urlset(*entries))
    found = audited(site, tmp_path)
    assert not [rule for rule in found.findings if rule.startswith(("cluster.", "hreflang.", "entry."))]


def test_google_faults_of_clusters_as_pages_headers_and_sitemaps_state_them(site: Site, tmp_path: Path) -> None:
    three = {"en": "/en", "de": "/de", "fr": "/fr", "x_default": "/en"}
    html = variants("html", **three)
    site.routes |= {
        "/": page("/en", "/it"),
        "/en": page(head=html, lang="en"),
        "/de": page(head=html, lang="fr"),
        "/fr": Answer(page(lang="de").body, headers={"Link": variants("header", **three)}),
        "/it": page(head=variants("html", it="/it", es="/es", en_UK="/en", x_default="/nowhere"), lang="it"),
        "/es": page(lang="es"),
        "/sitemap.xml": xml(urlset(url("{url}en", inner=variants("sitemap", **(three | {"fr": "/es"}))))),
    }
    found = audited(site, tmp_path)
    assert {rule: found.urls(rule) for rule in found.findings if rule.startswith("cluster.")} == {
        "cluster.swapped": ["de", "en", "fr"],
        "cluster.label": ["es"],  # which the entry of /en calls French
        "cluster.conflict": ["en"],
        "cluster.code": ["it"],
        "cluster.target": ["it"],
        "cluster.not_mutual": ["it"],
    }
    (target,) = found.findings["cluster.target"]
    assert target.sentence == f"{site.url}nowhere, labelled x-default, answered 404, not found"


def test_ours_a_page_whose_cluster_is_stated_in_two_places_is_judged_once(site: Site, tmp_path: Path) -> None:
    both = variants("sitemap", de="/de", fr="/a")
    site.routes |= {
        "/": page("/de", "/fr", "/a"),
        "/a": page(lang="fr"),
        "/de": page(head=variants("html", de="/de", fr="/fr", x_default="/fr"), lang="de"),
        "/fr": page(lang="fr"),
        "/sitemap.xml": xml(urlset(url("{url}de", inner=both), url("{url}a", inner=both))),
    }
    found = audited(site, tmp_path)
    assert found.urls("cluster.conflict") == ["de"]
    assert found.urls("cluster.not_mutual") == ["de"]
