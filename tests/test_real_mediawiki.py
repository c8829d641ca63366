"""The audit of a real MediaWiki, with the pages that it calls lonely itself.

Wants ``apt-get install --no-install-recommends mediawiki php-fpm php-sqlite3 php-intl nginx``.

``pytest -m slow tests/test_real_mediawiki.py`` runs it; what is not installed is skipped. All of it is started for the
test, on the loopback address and in temporary folders, and ended with it.
"""

from pathlib import Path
from urllib.parse import quote

import pytest
from cms import Cms, audit, classes
from cms_mediawiki import mediawiki

pytestmark = [pytest.mark.slow, pytest.mark.needs_nginx, pytest.mark.timeout(300)]

ARTICLES, LONELY = 24, 5
_ADVICE = "User-agent: *\nDisallow: /w/\nDisallow: /wiki/Special:\n\nSitemap: {}\n"


def articles(cms: Cms) -> dict[str, str]:
    """A tree of articles with some beside it, those first that others link to, for a link to what is not is red."""
    pages = {
        "Secret": "__NOINDEX__ Seen all the same: articles are exempt.",
        **{title: f"All about {title}." for title in ("Doomed", "Renamed later", "Ünïcode Straße", "C++/notes?")},
        **dict.fromkeys(("Talk:Pier 7", "Island A", "Category:Piers"), "Nothing much."),
    }
    lonely = range(ARTICLES - LONELY, ARTICLES)
    for number in reversed(range(ARTICLES)):
        below = [each for each in (2 * number + 1, 2 * number + 2) if each not in lonely and each < ARTICLES]
        links = " ".join(f"See [[Pier {each}]]." for each in below)
        member = "" if number in lonely or number % 3 == 0 else "[[Category:Piers]]"
        pages[f"Pier {number}"] = f"'''Pier {number}''' was built in {1800 + number}.\n\n{links}\n{member}"
    pages["Pier 1"] += " [[Secret]] [[Ünïcode Straße]] [[C++/notes?]] [[Talk:Pier 7]] [[Missing]]"
    pages["Pier 2"] += " [[Doomed]] [[Renamed later]]"
    pages |= {"Island B": "To [[Island A]].", "Jetty": "#REDIRECT [[Pier 3]]", "Mole": "#REDIRECT [[Pier 4]]"}
    pages["Main Page"] = (
        f"[[Pier 0]], [[:Category:Piers]], [[Jetty]], [{cms.url('/w/index.php?title=Pier_9')} by script]."
    )
    return pages


def wiki_path(title: str) -> str:
    """Where the wiki has a page."""
    return f"/wiki/{quote(title.replace(' ', '_'), safe=':/')}"


_SITEMAP = "/sitemaps/sitemap-index-wiki.xml"
# where everybody begins is lonely too
_LONELY = "SELECT qc_title FROM querycache WHERE qc_namespace = 0 AND qc_title != 'Main_Page'"
_LINKED_ONCE = """SELECT p.page_title FROM page p JOIN (
    SELECT l.pl_title AS title, l.pl_from AS source FROM pagelinks l JOIN page s ON s.page_id = l.pl_from
      WHERE l.pl_namespace = 0 AND NOT s.page_is_redirect
    UNION SELECT m.page_title, c.page_id FROM categorylinks k JOIN page m ON m.page_id = k.cl_from
      JOIN page c ON c.page_namespace = 14 AND c.page_title = k.cl_to
  ) AS led ON led.title = p.page_title
  WHERE p.page_namespace = 0 AND NOT p.page_is_redirect AND p.page_title NOT LIKE 'Island%'
  GROUP BY p.page_id HAVING count(DISTINCT led.source) = 1"""


def test_ours_the_audit_of_a_mediawiki_calls_orphans_what_the_wiki_calls_lonely(tmp_path: Path) -> None:
    with mediawiki() as wiki:
        cms = wiki.cms
        wiki.make(articles(cms))
        wiki.grow_old()
        wiki.make({"Island A": "To [[Island B]]."}, {"Renamed later": "Renamed now"}, ("Doomed",))
        wiki.publish_sitemaps()
        wiki.maintain("updateSpecialPages.php", "--only", "Lonelypages")
        lonely = {wiki_path(title) for (title,) in wiki.sql(_LONELY)}
        once = {wiki_path(title) for (title,) in wiki.sql(_LINKED_ONCE)}
        start, sitemap = ("/wiki/Main_Page", "--sitemap-url", cms.url("/sitemap.xml")), cms.url(_SITEMAP)
        bare = audit(cms, tmp_path, *start, "--sitemap", sitemap, "--state", "bare")
        (wiki.root / "site" / "robots.txt").write_text(_ADVICE.format(sitemap))
        advised = audit(cms, tmp_path, *start, "--set=audit.trust_blocked=true")
    found = classes(advised)
    assert len(lonely) == len(found["orphan.sitemap"]) == LONELY
    assert advised["doubts"] == []
    assert found == wiki_truth(lonely, once)
    assert advised["fetched"] < 2 * ARTICLES + 20
    # Without a robots.txt all histories, forms and logs are read once, and what they lead to is left alone. A list of
    # the latest changes links some of the lonely, and says that such links are not to be followed. A page under its
    # script is no other page. Special:Random redirects to any of them.
    found, advised_of = classes(bare), found
    assert bare["doubts"] == []
    assert found["location.outside"] == found["hint.ignored"] == advised_of["hint.ignored"]
    known = (*found.get("orphan.sitemap", []), *found["weak.nofollow"])
    assert {*known, *lonely.intersection(found.get("weak.redirect", []))} == lonely
    assert bare["fetched"] < 800  # it is 506; what they lead to is as much again, and goes on


def wiki_truth(lonely: set[str], once: set[str]) -> dict[str, list[str]]:
    """What is wrong, by hand and by the tables of the wiki, when robots.txt keeps robots to the articles."""
    truth = {
        "orphan.sitemap": list(lonely),
        "orphan.island": ["/wiki/Island_A", "/wiki/Island_B"],
        "weak.canonical": ["/wiki/Renamed_now"],  # its old name is linked, which answers with a canonical
        "reach.few": list(once),
        "gone.linked": [f"/wiki/Harbour_Wiki:{name}" for name in ("About", "General_disclaimer", "Privacy_policy")],
        "entry.canonical": ["/wiki/Jetty", "/wiki/Mole", "/wiki/Renamed_later"],  # its sitemaps list redirects
        "listed.missing": ["/wiki/Secret"],
        "canonical.origin": ["/wiki/Main_Page"],  # both names return the wiki, which redirects neither
        "hint.ignored": [wiki_path(title) for title in ("C++/notes?", "Category:Piers", "Talk:Pier 7")],  # one a file
    }
    return {rule: sorted(paths) for rule, paths in sorted(truth.items())}
