"""The rules of an audit, beside those of lint (:data:`sitemap.RULES`), and the groups that reports show them in."""

from typing import Final

from sitemap import RULES as LINT
from sitemap import Rule, Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE
_LINKS = "https://developers.google.com/search/docs/crawling-indexing/links-crawlable"
_SITEMAPS = "https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap"
_CANONICAL = "https://developers.google.com/search/docs/crawling-indexing/consolidate-duplicate-urls"
_HREFLANG = "https://developers.google.com/search/docs/specialty/international/localized-versions"
_REDIRECT = "https://developers.google.com/search/docs/crawling-indexing/301-redirects"
_CHAIN = "https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes"
_LASTMOD = "https://developers.google.com/search/blog/2023/06/sitemaps-lastmod-ping"

_TABLE: Final = (
    Rule("orphan.sitemap", _W, "In the sitemap only", "An indexable page is in a sitemap, and nothing on the site leads to it.", "Link to it from a page that people reach, or take it out of the sitemap.", _LINKS),
    Rule("orphan.search", _W, "In search or analytics only", "An indexable page is found by searchers or counted by analytics, and neither links nor sitemaps lead to it.", "Link to it and list it, or retire it with a redirect or 410.", _LINKS),
    Rule("orphan.log", _W, "In the logs only", "An indexable page is requested, and neither links nor sitemaps lead to it.", "Link to it and list it, or retire it with a redirect or 410.", _LINKS),
    Rule("orphan.list", _W, "In lists, backlinks or another crawl only", "An indexable page is named by a list, by other sites or by another crawl, and neither links nor sitemaps lead to it.", "Link to it and list it, or retire it with a redirect or 410.", _LINKS),
    Rule("orphan.island", _W, "Cut-off islands", "Pages link to one another, and nothing leads from the start to any of them.", "Link to one page of each island.", _LINKS),
    Rule("weak.redirect", _W, "Linked through redirects only", "Every link to the page goes to another URL that redirects to it.", "Let the links name the page itself.", _LINKS),
    Rule("weak.canonical", _W, "Linked by way of other pages' canonicals only", "Only pages that name another as canonical link to it, or it is known as a canonical only.", "Link to the canonical page itself, from pages that are canonical.", _CANONICAL),
    Rule("weak.noindex", _W, "Linked from noindexed pages only", "Every page that links to it says noindex, and search engines drop such links in time.", "Link to it from a page that is indexed.", _LINKS),
    Rule("weak.nofollow", _W, "Linked by nofollow only", "Every link to it says nofollow.", "Let one link be followed.", _LINKS),
    Rule("weak.head", _N, "Named without a link", "Only hreflang, next/prev, AMP links or feeds name it, which nobody can click.", "Link to it in the text of a page.", _LINKS),
    Rule("reach.deep", _N, "Deep pages", "The page is more clicks away from the start than --max-clicks.", "Link to it from a page nearer to the start."),
    Rule("reach.few", _N, "Pages with few inlinks", "Not more than --min-inlinks other pages link to it, and most pages of the site have more.", "Link to it from related pages."),
    Rule("listed.missing", _W, "Linked, but not in the sitemap", "An indexable page that the site links is in none of its sitemaps.", "List it: siteatlas crawl makes such a sitemap.", _SITEMAPS),
    Rule("listed.series", _N, "Linked, not in the sitemap, and one of a series", "A page of a list in pages (/page/2/, ?page=2) is in no sitemap.", "Nothing, unless search engines are to find it by itself.", _SITEMAPS),
    Rule("gone.visited", _W, "Dead, but visited", "The URL answers no longer, and people, bots, searchers or other sites still come.", "Redirect it to what took its place."),
    Rule("gone.named", _N, "Gone, but named", "A list, another crawl or a console names a URL that is gone, and nobody is known to visit it.", "Redirect it to what took its place, or drop it from the list."),
    Rule("gone.linked", _W, "Dead, but linked", "Pages of the site link to a URL that answers no longer.", "Fix or remove the links."),
    Rule("gone.failing", _W, "Failing, but linked", "Pages of the site link to a URL that failed today: 5xx, no answer, redirects in a circle.", "See what the server's log says of it, and fix it or the links."),
    Rule("gone.down", _W, "Failing, but visited", "People, bots, searchers or other sites come to a URL that no page links and that failed today: 5xx, no answer, redirects in a circle.", "See what the server's log says of it, and fix it, or redirect it to what took its place."),
    Rule("canonical.lost", _E, "Lost to its canonical", "A page that could be indexed names as its canonical a URL that cannot be indexed: gone, noindexed, blocked, or leading back. Neither of the two gets into a sitemap.", "Let it name itself, or a page that can be indexed.", _CANONICAL),
    Rule("canonical.chain", _W, "Canonical that is not canonical itself", "A page names as its canonical a URL that redirects, or that names another as its own.", "Name the final page.", _CANONICAL),
    Rule("link.chain", _W, "Redirects in a row", "Pages of the site, or its sitemaps, name a URL that redirects to one that has moved for good itself, or more than three times in a row.", "Point the first redirect, the links and the sitemap at the final URL. A temporary redirect (302, 303, 307) keeps its own URL.", _CHAIN),
    Rule("link.redirect", _N, "Links to redirects", "Pages of the site link to a URL that redirects for good to another of its URLs.", "Let the links name its final URL.", _REDIRECT),
    Rule("declared.unreadable", _E, "Declared as a sitemap, but unreadable", "robots.txt names a sitemap that cannot be read.", "Fix it, or take the line out of robots.txt.", _SITEMAPS),
    Rule("entry.gone", _E, "Listed, but gone", "The sitemap lists a URL that answers 4xx.", "Take it out of the sitemap.", _SITEMAPS),
    Rule("entry.failed", _W, "Listed, but failing", "The sitemap lists a URL that brought no page today: 5xx, no answer, redirects in a circle.", "See what the server's log says of it."),
    Rule("entry.refused", _W, "Listed, but refused", "The sitemap lists a URL that asks for a login or is forbidden (401, 403).", "Take it out of the sitemap, or open it to everybody.", _SITEMAPS),
    Rule("entry.redirect", _W, "Listed, but redirected", "The sitemap lists a URL that redirects.", "List where it leads to.", _SITEMAPS),
    Rule("entry.outside", _W, "Listed under another name of the site", "The sitemap lists URLs with another scheme than the site's, or with or without www.", "List the URLs of the site itself, and redirect its other names to it.", _SITEMAPS),
    Rule("entry.noindex", _E, "Listed, but noindexed", "The sitemap lists a page that asks not to be indexed.", "Take one of the two back.", _SITEMAPS),
    Rule("entry.blocked", _E, "Listed, but blocked by robots.txt", "The sitemap lists a URL that robots.txt forbids to fetch.", "Allow it, or take it out of the sitemap.", _SITEMAPS),
    Rule("entry.canonical", _E, "Listed, but not canonical", "The sitemap lists a page that names another as its canonical.", "List the canonical page.", _CANONICAL),
    Rule("entry.duplicate", _W, "Listed in several spellings", "Several entries of the sitemaps are one page.", "List the canonical spelling, once.", _CANONICAL),
    Rule("entry.lastmod_late", _W, "lastmod later than any change", "The sitemap says that the page changed after its last change.", "Let lastmod be the date of the last significant change.", _LASTMOD),
    Rule("entry.lastmod_early", _W, "lastmod before the last change", "The page changed after the date that the sitemap states.", "Let lastmod be the date of the last significant change.", _LASTMOD),
    Rule("cluster.code", _E, "hreflang: no language", "A page names a version under a code that is no language that search engines know.", "Write the ISO 639-1 code of the language, with a country after it if you mean one.", _HREFLANG),
    Rule("cluster.not_mutual", _E, "hreflang: no link back", "A page names another as its version in a language, and that one does not name it back.", "Let all versions name one another.", _HREFLANG),
    Rule("cluster.no_self", _E, "hreflang: does not name itself", "A page names its versions in other languages and not itself.", "Let each page name itself too.", _HREFLANG),
    Rule("cluster.no_default", _N, "hreflang: no x-default", "No version is named for all other languages.", "Name one as x-default, if there is one for everybody.", _HREFLANG),
    Rule("cluster.target", _E, "hreflang: names no indexable page", "A version that is named does not answer 200, redirects, says noindex or is not canonical.", "Name the canonical page, or none.", _HREFLANG),
    Rule("cluster.label", _W, "hreflang: another language than the page's own", "The language under which a page is named is not the one that its html element states.", "Correct the one that is wrong.", _HREFLANG),
    Rule("cluster.swapped", _E, "hreflang: labels swapped", "Two versions are named under each other's language.", "Swap the labels.", _HREFLANG),
    Rule("cluster.conflict", _E, "hreflang: statements disagree", "One label stands for several pages, or page and sitemap say different things.", "State each version once, in one place.", _HREFLANG),
    Rule("media.image", _W, "Listed images that do not answer", "The sitemap lists an image that cannot be fetched.", "Fix the image on the page that shows it: siteatlas crawl lists what pages show. Take it out of a sitemap that another tool makes."),
    Rule("media.video", _W, "Listed videos that do not answer", "The sitemap lists a video, a player or a thumbnail that cannot be fetched.", "Fix it on the page that shows it: siteatlas crawl lists what pages show. Take it out of a sitemap that another tool makes."),
)  # fmt: skip

RULES: Final = {rule.id: rule for rule in _TABLE}
"""All rules of the audit by their id, in the order of the reports."""

_OF_LINKS: Final = frozenset({"orphan", "weak", "reach"})


def needs_complete(rule: str) -> bool:
    """Whether a page that the crawl did not see could disprove a finding of the rule."""
    return rule.partition(".")[0] in _OF_LINKS


ALL_RULES: Final = RULES | LINT
"""The rules of the audit and of lint, by id."""


def why_unproven(rule: str) -> str:
    """Why uncertain findings of a rule are inconclusive, in a sentence."""
    if needs_complete(rule):
        return "The crawl did not see all of the site: a page that it missed may disprove this."
    return "Not all of the sources could be read: the unread part may disprove this."
