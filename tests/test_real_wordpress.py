"""The audit and the crawl of a real WordPress, its database as the oracle.

Wants ``apt-get install --no-install-recommends wordpress wordpress-theme-twentytwentyone mariadb-server php-fpm
php-mysql php-gd nginx``.

``pytest -m slow tests/test_real_wordpress.py`` runs it; what is not installed is skipped. All of it is started for the
test, on the loopback address and in temporary folders, and ended with it.
"""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cms import LONG, Asked, audit, classes
from cms_visitors import GOOGLE, PEOPLE, crowd, passers_by, people
from cms_wordpress import WordPress, wordpress
from run import FAST, listed, siteatlas

pytestmark = [pytest.mark.slow, pytest.mark.needs_nginx, pytest.mark.timeout(300)]

POSTS = 120

_ARCHIVES = """SELECT 'page', COUNT(*) FROM wp_posts p WHERE {seen}
  UNION ALL SELECT CONCAT('author/', u.user_nicename, '/page'), COUNT(*) FROM wp_posts p
    JOIN wp_users u ON u.ID = p.post_author WHERE {seen} GROUP BY u.ID
  UNION ALL SELECT CONCAT('tag/', t.slug, '/page'), COUNT(*) FROM wp_posts p
    JOIN wp_term_relationships r ON r.object_id = p.ID JOIN wp_term_taxonomy x USING (term_taxonomy_id)
    JOIN wp_terms t USING (term_id) WHERE x.taxonomy = 'post_tag' AND {seen} GROUP BY t.term_id
  UNION ALL SELECT CONCAT('category/', IFNULL(CONCAT(b.slug, '/'), ''), t.slug, '/page'),
      COUNT(DISTINCT p.ID)
    FROM wp_term_taxonomy x JOIN wp_terms t USING (term_id) LEFT JOIN wp_terms b ON b.term_id = x.parent
    JOIN wp_term_taxonomy y ON y.taxonomy = 'category' AND (y.term_id = x.term_id OR y.parent = x.term_id)
    JOIN wp_term_relationships r ON r.term_taxonomy_id = y.term_taxonomy_id JOIN wp_posts p ON p.ID = r.object_id
    WHERE x.taxonomy = 'category' AND {seen} GROUP BY x.term_id
  UNION ALL SELECT CONCAT('2025', '/page'), COUNT(*) FROM wp_posts p WHERE YEAR(p.post_date) = 2025 AND {seen}"""
_SEEN = "p.post_type = 'post' AND p.post_status = 'publish' AND p.post_name != 'hidden-harvest'"
_COMMENTED = """SELECT CONCAT(DATE_FORMAT(p.post_date, '/%Y/%m/'), p.post_name), COUNT(*) FROM wp_comments c
  JOIN wp_posts p ON p.ID = c.comment_post_ID GROUP BY p.ID"""


def further_pages(site: WordPress) -> dict[str, set[str]]:
    """The second and further pages of each archive of ten posts a page, and of five comments a page, by its path."""
    archives = site.sql(_ARCHIVES.format(seen=_SEEN).replace("\n", " "))
    found = {name: {f"/{name}/{n}/" for n in range(2, -(-int(many) // 10) + 1)} for name, many in archives}
    commented = site.sql(_COMMENTED.replace("\n", " "))
    found |= {name: {f"{name}/comment-page-{n}/" for n in range(2, -(-int(many) // 5) + 1)} for name, many in commented}
    return found


def known_paths(site: WordPress) -> list[str]:
    """What a month of visits is spread over."""
    posts = [urlsplit(url).path for url in site.made["posts"]]
    pages = "about about/staff history contact timetable timetable/winter subscribe imprint english deutsch pricing"
    return ["/", *posts, *(f"/{name}/" for name in pages.split()), *(f"/?p={n}" for n in site.made["ids"][::10])]


def visits_before(site: WordPress) -> Iterator[Asked]:
    """While the pages that are deleted later were there."""
    yield from crowd(known_paths(site))
    yield from passers_by(["/wp-content/themes/twentytwentyone/style.css?ver=1.7", "/favicon.ico"], ["/feed/"])
    yield from (people("/2025/03/closed-bridge/", 9), Asked("/2025/03/lost-parcel/", GOOGLE, 6))
    yield people("/2025/03/new-peer/", 7)


def visits_after(site: WordPress) -> Iterator[Asked]:
    """What only the log knows, what is gone, and what is none of the two."""
    post = urlsplit(site.made["posts"][9]).path
    orphans = ("/2025/", "/loose/", "/category/retired-column/", "/author/clara/", "/readme.html")
    gone = ("/old-shop/", "/old-shop/item-3", "/unfinished-story/", "/private-minutes/", "/typo/", f"{post}amp/")
    others = (
        "/?s=tide",
        "/intern/",
        f"{post}embed/",
        f"{post}?print=1",
        "/wp-json/",
        "/?feed=rss2",
        "/?cat=3",
        "/page/1/",
    )
    rest = (
        "/category/Ships/",
        "/?author=1",
        "/?m=202506",
        "/index.php",
        "/search/tide/",
        "/wp-cron.php",
        "/wp-signup.php",
    )
    yield from (
        people(path, 8) for path in (*orphans, *gone, *others, *rest, "/wp-trackback.php", "/2025/03/for-members/")
    )
    yield from (people(path, 5) for path in ("/press-kit/?utm_source=mail", "/press-kit", "/2025/03/closed-bridge/"))
    yield people("/about/", 5, host=site.cms.host.removeprefix("www."))
    yield Asked(f"{urlsplit(site.made['posts'][31]).path}gulls/", GOOGLE, 4)
    yield from (Asked(path, PEOPLE[1], 20, "POST") for path in ("/wp-comments-post.php", "/about/"))


def exports(site: WordPress, folder: Path) -> list[str]:
    """What Search Console, GA4 and a tool for backlinks say; the options that name it."""
    url = site.cms.url
    tables = {
        "--search": [["Top pages", "Clicks", "Impressions", "CTR", "Position"], [url("/"), 420, 9100, "4.6%", 8.1],
                     [url("/2025/03/lost-parcel/"), 3, 120, "2.5%", 14], [url("/feed/"), 0, 15, "0%", 31]],
        "--analytics": [["Page path and screen class", "Views", "Active users"], ["", 4021, 1200], ["/about/", 90, 70],
                        ["/thank-you/", 33, 30], ["/author/clara/", 5, 5], ["(not set)", 12, 10]],
        "--backlinks": [["Source url", "Target url", "Anchor text"],
                        ["https://blog.example.net/a", url("/jobs/"), "jobs"],
                        ["https://blog.example.net/b", url("/2019/old-story/"), "story"]],
    }  # fmt: skip
    words = []
    for option, rows in tables.items():
        with (folder / f"{option[2:]}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
        words += [option, f"{option[2:]}.csv"]
    return words


def test_ours_the_audit_of_a_wordpress_finds_what_is_wrong_with_it_and_nothing_else(tmp_path: Path) -> None:
    with wordpress(POSTS) as site:
        site.cms.visit(list(visits_before(site)))
        for number in site.made["going"]:
            site.edit("delete", number)
        site.edit("rename", site.made["renamed"], "new-pier")
        site.cms.visit(list(visits_after(site)))
        report = audit(site.cms, tmp_path, "/", "--log", str(site.cms.log), *exports(site, tmp_path))
        further = further_pages(site)
    archives = {name: pages for name, pages in further.items() if name != "2025/page"}
    assert report["doubts"] == []
    assert classes(report) == wordpress_truth(site, archives, sorted(further["2025/page"]))


def wordpress_truth(site: WordPress, archives: dict[str, set[str]], year: list[str]) -> dict[str, list[str]]:
    """What is wrong, by hand: everything in ``wordpress_content.php`` that a person would look for."""
    posts = [urlsplit(url).path for url in site.made["posts"]]
    asked = range(7, len(posts), 50)  # these link to others by id, without the slash, and with parameters
    photo = f"{posts[30]}pier/"
    truth = {
        "orphan.sitemap": ["/2025/03/hidden-harvest/", "/jobs/", "/press-kit/", "/thank-you/"],
        "orphan.island": ["/2025/", *year, "/partner-terms/", "/partners/"],
        "orphan.search": ["/author/clara/"],
        "orphan.log": [f"{posts[31]}gulls/", "/category/retired-column/", "/loose/", "/readme.html"],
        "weak.redirect": ["/timetable/summer/", "/vouchers/"],
        "weak.canonical": ["/pricing/"],
        "weak.nofollow": ["/advertise/"],
        "weak.noindex": ["/legal-detail/"],
        "gone.linked": ["/2025/03/closed-bridge/", "/never-was/", "/old-shop/"],
        "gone.visited": [
            *("/2019/old-story/", "/2025/03/closed-bridge/", "/2025/03/lost-parcel/", "/old-shop/", "/old-shop/item-3"),
            *("/private-minutes/", "/typo/", "/unfinished-story/", f"{posts[9]}amp/"),
        ],
        "link.redirect": [
            *("/2025/03/new-peer/", "/timetable/summer"),
            *(f"/?p={site.made['ids'][n - 3]}" for n in asked),
            *(posts[n - 4].rstrip("/") for n in asked),
        ],
        "entry.noindex": ["/2025/03/kept-note/", "/imprint/"],
        "entry.blocked": ["/intern/"],
        "listed.missing": [photo, "/2025/03/long-voyage/2/", "/2025/03/long-voyage/3/"],
        "listed.series": list(set().union(*archives.values())),
        "reach.few": [
            *("/about/staff/", "/history/", "/timetable/winter/", photo),
            *(page for pages in archives.values() if len(pages) == 1 for page in pages),  # the first page links it
        ],
        "cluster.not_mutual": ["/english/"],
        "cluster.no_default": ["/english/"],
        "cluster.label": ["/deutsch/"],
        "index.no_lastmod": ["/wp-sitemap.xml"],
    }
    return {rule: sorted(paths) for rule, paths in sorted(truth.items())}


def test_ours_a_wordpress_is_listed_as_it_is_and_dates_move_where_something_was_edited(tmp_path: Path) -> None:
    def run(*words: str) -> str:
        ran = siteatlas(tmp_path, *words, timeout=LONG)
        assert ran.code == 0, ran.err
        return ran.out

    with wordpress(POSTS // 2) as site:
        url, posts = site.cms.url, site.made["posts"]
        crawling = ("crawl", url("/"), *site.cms.resolving(), *FAST, "--set=output.swap_delay=0", "-o", "out", "-q")
        run(*crawling)
        pages = set(listed(tmp_path))
        drawn = site.sql(f"SELECT p.ID FROM wp_posts p WHERE {_SEEN} AND p.post_name != 'kept-note'")
        of_posts = [each for each in pages if each.startswith(url("/20"))]
        # with one that only the sitemap knows, two further pages of a post, two of comments, and a photo's own page
        assert len(of_posts) == len(drawn) + 6
        silly = ("feed", "wp-", "xmlrpc", "replytocom", "?", "embed", "comment-page-1/", "author/clara", "imprint")
        assert not [each for each in pages if any(word in each for word in silly)]
        site.edit("add", site.made["ids"][20], "<p>The dredger came home, and nobody knew why.</p>")
        site.edit("touch", site.made["ids"][21])
        site.edit("comment", site.made["ids"][22], "What a fine report this is.")
        number = site.made["categories"][0]
        fresh = site.edit("publish", number, "Winter has come")
        run(*crawling)
        changes = json.loads(run("compare", url("/"), "--format", "json"))["sitemap"]["changes"]
        moved = {each["url"]: each for each in changes}
    lists = {url("/"), url("/category/harbour/"), url("/author/anna/")}
    told = {
        each for each in moved if "/page/" not in each
    }  # a protected post may reach a further page as another leaves
    assert told == {posts[20], posts[22], fresh} | lists
    assert {each for each in moved if moved[each]["kind"] != "changed"} == {fresh}
    assert moved[fresh]["kind"] == "added"
