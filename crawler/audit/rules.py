"""The rules of an audit, beside those of lint (:data:`sitemap.RULES`), and the groups that reports show them in."""

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from sitemap import RULES as LINT
from sitemap import Rule, Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE
_LINKS = "https://developers.google.com/search/docs/crawling-indexing/links-crawlable"
_SITEMAPS = "https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap"
_ROBOTS_META = "https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag"
_CANONICAL = "https://developers.google.com/search/docs/crawling-indexing/consolidate-duplicate-urls"
_HREFLANG = "https://developers.google.com/search/docs/specialty/international/localized-versions"
_REDIRECT = "https://developers.google.com/search/docs/crawling-indexing/301-redirects"
_CHAIN = "https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes"
_BUDGET = "https://developers.google.com/crawling/docs/crawl-budget"
_JAVASCRIPT = "https://developers.google.com/search/docs/crawling-indexing/javascript/javascript-seo-basics"
_TITLE = "https://developers.google.com/search/docs/appearance/title-link"
_LASTMOD = "https://developers.google.com/search/blog/2023/06/sitemaps-lastmod-ping"

_TABLE: Final = (
    Rule("orphan.sitemap", _W, "In the sitemap only", "An indexable page is in a sitemap, but no page of the site links to it.", "Link to it from a page that visitors can reach, or remove it from the sitemap.", _LINKS),
    Rule("orphan.search", _W, "In search or analytics only", "An indexable page appears in search or analytics data, but no page links to it and no sitemap lists it.", "Link to it and list it in the sitemap, or replace it with a redirect or status 410.", _LINKS),
    Rule("orphan.log", _W, "In the logs only", "The access logs contain requests for an indexable page, but no page links to it and no sitemap lists it.", "Link to it and list it in the sitemap, or replace it with a redirect or status 410.", _LINKS),
    Rule("orphan.list", _W, "In lists, backlinks or another crawl only", "A list, other sites or another crawl name an indexable page, but no page links to it and no sitemap lists it.", "Link to it and list it in the sitemap, or replace it with a redirect or status 410.", _LINKS),
    Rule("orphan.island", _W, "Isolated islands of pages", "A group of pages link to each other, but no links lead from the start URL to any of them. Such a group is called an island.", "Link to at least one page of each island from a page that visitors can reach.", _LINKS),
    Rule("weak.redirect", _W, "Linked through redirects only", "All links to the page go to another URL, and this URL redirects to the page.", "Change the links to the URL of the page itself.", _LINKS),
    Rule("weak.canonical", _W, "Linked from non-canonical pages only", "All pages that link to the page name another page as their canonical. Or no page links to the page, and other pages only name it as their canonical.", "Link to the page from pages that name themselves as canonical.", _CANONICAL),
    Rule("weak.noindex", _W, "Linked from noindexed pages only", "All pages that link to the page have noindex. After some time, search engines ignore the links on such pages.", "Link to it from a page that is indexed.", _LINKS),
    Rule("weak.nofollow", _W, "Linked by nofollow only", "Every link to the page is a nofollow link.", "Remove nofollow from at least one link.", _LINKS),
    Rule("weak.head", _N, "Referenced, but without a link", "The page is named only in hreflang, next, prev or AMP elements, or in feeds. Visitors cannot click these.", "Link to it in the text of a page.", _LINKS),
    Rule("place.box", _N, "Linked from boxes of the template only", "Only footers, side boxes or boxes that change, which the pages repeat, link to the page. No text, list, menu or breadcrumb does. Few visitors and search engines follow such links.", "Link to it in the text of a related page, or in a list.", _LINKS),
    Rule("place.changing", _N, "Linked from changing boxes only", "Only boxes that show other links at each read, such as related pages drawn at random, link to the page. At most times, no link leads to it.", "Link to it in the text of a related page, or in a list that does not change.", _LINKS),
    Rule("place.new", _N, "New, but not linked in a text", "The last audit did not know the page, and no text and no list of the site links to it yet.", "Link to it in the text of a related page, or in a list.", _LINKS),
    Rule("reach.deep", _N, "Deep pages", "The page is more than audit.max_clicks clicks away from the start URL.", "Link to it from a page that is nearer to the start URL."),
    Rule("reach.few", _N, "Pages with few inlinks", "At most audit.min_inlinks other pages link to the page. Most pages of the site have more such links.", "Link to it from related pages."),
    Rule("listed.missing", _W, "Linked, but not in the sitemap", "The site links to an indexable page that no sitemap lists.", "Add it to the sitemap. siteatlas crawl writes a sitemap that lists it.", _SITEMAPS),
    Rule("listed.series", _N, "Later page of a list, not in the sitemap", "No sitemap lists a page such as /page/2/ or ?page=2, which continues a list of pages.", "No action is needed, unless search engines should show this page itself.", _SITEMAPS),
    Rule("lost.visited", _W, "Lost, but asked for", "The site once published the URL, and now it leads to no page. Visits, search results or links from other sites show that it is still in use.", "Redirect it to the page that replaces it. If it is gone on purpose, record that with siteatlas urls accept.", _CHAIN),
    Rule("lost.published", _N, "Lost", "The site once published the URL, and now it leads to no page. No source shows that anybody asks for it.", "Redirect it to the page that replaces it. If it is gone on purpose, record that with siteatlas urls accept.", _CHAIN),
    Rule("gone.visited", _W, "Gone, but visited", "The URL no longer returns a page. But visits, search results or links from other sites show that the URL is still in use.", "Redirect it to the page that replaces it."),
    Rule("gone.soft", _W, "Soft 404", "The URL returns status 200, but the page does not exist: the text of the page says so, or the site returns the same page for any missing URL.", "Let the server respond with status 404 or 410. If the page has moved, redirect the URL. Remove the URL from the sitemap and from links.", "https://developers.google.com/search/docs/crawling-indexing/troubleshoot-crawling-errors#soft-404-errors"),
    Rule("gone.named", _N, "Gone, but in a list", "A list, another crawl or Search Console data contain a URL that does not exist (4xx). No source shows visits to the URL.", "Redirect it to the page that replaces it, or remove it from the list."),
    Rule("gone.linked", _W, "Gone, but linked", "Pages of the site link to a URL that does not exist (4xx).", "Correct or remove the links."),
    Rule("gone.failing", _W, "Failing, but linked", "Pages of the site link to a URL that failed in this audit: 5xx, no response, or redirects in a loop.", "Find the cause in the log of the server. Then repair the URL, or correct the links."),
    Rule("gone.down", _W, "Failing, but visited", "A URL failed in this audit: 5xx, no response, or redirects in a loop. No page links to it, but visits, search results or links from other sites show that it is in use.", "Find the cause in the log of the server. Then repair the URL, or redirect it to the page that replaces it."),
    Rule("canonical.lost", _E, "Lost to its canonical", "A page names a canonical that search engines cannot index: the canonical is gone, has noindex, is blocked, or leads back to the page. So no sitemap can list the page or its canonical.", "On the page, name the page itself or another indexable page as the canonical.", _CANONICAL),
    Rule("canonical.chain", _W, "Canonical with another canonical", "The canonical of a page redirects, or names another URL as its canonical.", "Name the final page as the canonical.", _CANONICAL),
    Rule("canonical.origin", _W, "The site under another name", "Under another scheme or host name (http or https, with or without www), the site also returns the start page. This name does not redirect to the main name of the site, and its page does not name the main name as the canonical. So search engines see two sites.", "Redirect all URLs of the other name to the main name of the site.", _CANONICAL),
    Rule("link.chain", _W, "Redirects in a row", "Links or sitemaps contain a URL that redirects several times in a row: to another permanent redirect, or more than three times in total.", "Let the first redirect, the links and the sitemap point to the final URL. If one of the redirects is temporary (302, 303, 307), let them point to the URL that redirects temporarily.", _CHAIN),
    Rule("link.redirect", _N, "Links to redirects", "Pages of the site link to a URL that redirects permanently to another URL of the site.", "Change the links to the final URL.", _REDIRECT),
    Rule("declared.unreadable", _E, "Declared as a sitemap, but unreadable", "robots.txt names a sitemap that Siteatlas cannot read.", "Correct the sitemap, or remove the line from robots.txt.", _SITEMAPS),
    Rule("entry.gone", _E, "Listed, but gone", "The sitemap lists a URL that returns 4xx.", "Remove it from the sitemap.", _SITEMAPS),
    Rule("entry.failed", _W, "Listed, but failing", "The sitemap lists a URL that failed in this audit: 5xx, no response, or redirects in a loop.", "Find the cause in the log of the server, and repair the URL."),
    Rule("entry.refused", _W, "Listed, but refused", "The sitemap lists a URL that needs a login or is forbidden (401, 403).", "Remove it from the sitemap, or make it public.", _SITEMAPS),
    Rule("entry.redirect", _W, "Listed, but redirected", "The sitemap lists a URL that redirects.", "List the target of the redirect instead.", _SITEMAPS),
    Rule("entry.outside", _W, "Listed under another name of the site", "The sitemap lists URLs with another scheme or host name than the site: http instead of https, or with www instead of without.", "List the URLs under the main name of the site, and redirect the other names to it.", _SITEMAPS),
    Rule("entry.noindex", _E, "Listed, but noindexed", "The sitemap lists a page that has noindex.", "Remove the page from the sitemap, or remove noindex from the page.", _SITEMAPS),
    Rule("entry.noindex_engine", _E, "Listed, but noindexed for Googlebot or Bingbot", "The sitemap lists a page with a noindex for Googlebot or for Bingbot only. This search engine reports the URL as submitted, but noindexed.", "Remove the page from the sitemap, or remove noindex from the page.", _ROBOTS_META),
    Rule("entry.blocked", _E, "Listed, but blocked by robots.txt", "The sitemap lists a URL that robots.txt does not allow crawlers to fetch.", "Allow it in robots.txt, or remove it from the sitemap.", _SITEMAPS),
    Rule("entry.canonical", _E, "Listed, but not canonical", "The sitemap lists a page that names another page as its canonical.", "List the canonical page.", _CANONICAL),
    Rule("entry.type", _W, "Listed, but not a page", "The sitemap lists a picture, a video, a style sheet, a script or another file. Search engines do not show such files as results.", "Remove the file from the sitemap. List pictures and videos in the entry of the page that shows them.", "https://developers.google.com/search/docs/crawling-indexing/indexable-file-types"),
    Rule("entry.duplicate", _W, "Listed in several spellings", "Several entries of the sitemaps lead to the same page.", "List only the canonical spelling, and only once.", _CANONICAL),
    Rule("entry.lastmod_late", _W, "lastmod later than any change", "The lastmod in the sitemap is later than the last change of the page.", "Set lastmod to the date of the last significant change.", _LASTMOD),
    Rule("entry.lastmod_early", _W, "lastmod before the last change", "The page changed after the lastmod in the sitemap. Siteatlas saw the change in earlier visits, or the page contains a later date.", "Set lastmod to the date of the last significant change.", _LASTMOD),
    Rule("cluster.code", _E, "hreflang: no language", "The hreflang code of a language version is not a code that search engines know.", "Write the ISO 639-1 code of the language, and add a country if you need it, as in en or en-GB.", _HREFLANG),
    Rule("cluster.not_mutual", _E, "hreflang: no link back", "A page lists another page as a language version, but that page does not list it in return.", "On every version, list all versions.", _HREFLANG),
    Rule("cluster.no_self", _E, "hreflang: does not name itself", "A page lists its versions in other languages, but not itself.", "On each page, also list the page itself.", _HREFLANG),
    Rule("cluster.no_default", _N, "hreflang: no x-default", "No language version is marked as the default (x-default) for visitors with other languages.", "If one version suits all visitors, mark it as x-default.", _HREFLANG),
    Rule("cluster.target", _E, "hreflang: version is not indexable", "A page lists a language version that redirects, does not return status 200, has noindex, or is not canonical.", "List the canonical page instead, or remove the version.", _HREFLANG),
    Rule("cluster.label", _W, "hreflang: another language than the page's own", "The hreflang code of a page differs from the language in its html element.", "Correct the hreflang code, or the language of the html element.", _HREFLANG),
    Rule("cluster.swapped", _E, "hreflang: labels swapped", "Two language versions have exchanged hreflang codes: each has the code of the other.", "Exchange the two codes.", _HREFLANG),
    Rule("cluster.conflict", _E, "hreflang: contradictions", "One hreflang code belongs to several pages, or the page and the sitemap name different versions.", "List each version once, either on the page or in the sitemap.", _HREFLANG),
    Rule("bots.uncrawled", _N, "Not crawled by search engines", "According to the access logs, no search engine requested an indexable page that is linked or in a sitemap.", "Link to the page from pages that search engines crawl often, and list the page in the sitemap with its lastmod.", _BUDGET),
    Rule("render.canonical", _W, "Another canonical when rendered", "A script changes the canonical of the page. Search engines see two canonicals, one before and one after rendering.", "Let the server send HTML with the same canonical as the script sets, or without a canonical.", _JAVASCRIPT),
    Rule("render.noindex", _W, "noindex changed by a script", "A script adds or removes noindex. If the HTML that the server sends has noindex, search engines may not run the script.", "Let the server send HTML with the intended robots rules, and do not change them in a script.", _JAVASCRIPT),
    Rule("render.links", _N, "Links only when rendered", "The page has links that only its scripts create. Search engines find such links late, and many other crawlers never find them.", "Write important links into the HTML that the server sends.", _JAVASCRIPT),
    Rule("render.orphan", _N, "Orphan without JavaScript", "Scripts create all links to the page. A crawler that runs no scripts can find the page only in a sitemap.", "Write at least one link to the page into the HTML that the server sends.", _JAVASCRIPT),
    Rule("render.title", _N, "Another title when rendered", "A script changes the title of the page.", "Write the title into the HTML that the server sends.", _JAVASCRIPT),
    Rule("render.redirect", _W, "Redirected by a script", "A script redirects visitors of the page to another URL.", "Redirect the URL on the server.", _JAVASCRIPT),
    Rule("render.address", _N, "Address changed by a script", "A script changes the URL of the page while the page loads (history.pushState or replaceState). Search engines know the page under the URL that they requested. They find the other URL only if a link leads to it.", "Link to the URL that visitors see, and let the server redirect to it.", _JAVASCRIPT),
    Rule("render.hash", _W, "Links to parts of the address after #", "The page has links such as #/about. For search engines, such links lead to the same page, so no sitemap can list them.", "Use the History API in the script, so that each page has its own URL.", _JAVASCRIPT),
    Rule("render.blocked", _W, "Scripts blocked by robots.txt", "The page needs a script, a style sheet or data that robots.txt blocks. Search engines render the page without the blocked files.", "Allow the blocked files in robots.txt.", _JAVASCRIPT),
    Rule("render.cut", _N, "Rendering cut short", "The page was not complete after render.timeout seconds, or sent more than render.max_requests requests. Siteatlas read the content that the page had at this time.", "Make the page complete earlier, or raise the option.", _JAVASCRIPT),
    Rule("google.size", _W, "Larger than Googlebot reads", "The HTML of the page is larger than 2 MB without compression. Googlebot reads the first 2 MB and ignores the rest.", "Move inline styles, scripts, data and pictures into separate files, or divide the page. Put the canonical, the robots rules and JSON-LD near the start of the page.", "https://developers.google.com/search/blog/2026/03/crawler-blog-post"),
    Rule("google.unindexed", _W, "In the sitemap, but not indexed by Google", "The sitemap lists an indexable page that is not in Google's index, according to URL Inspection.", "Read the reason that Google gives. Link to the page from important pages, and give it content that no other page has.", "https://support.google.com/webmasters/answer/7440203"),
    Rule("google.canonical", _W, "Google takes another canonical", "According to URL Inspection, Google uses another URL as the canonical of an indexable page.", "If the two pages are duplicates, redirect one page to the other, or name the same canonical on both. Otherwise, give the pages different texts.", _CANONICAL),
    Rule("target.fragment", _W, "Links to parts that do not exist", "A link leads to a part of a page, such as #prices, but no element of that page has this id or name.", "Correct the link, or give the element the id.", "https://html.spec.whatwg.org/multipage/browsing-the-web.html#scroll-to-fragid"),
    Rule("target.file", _W, "Pictures, styles and scripts that are not there", "A page loads a picture, a style sheet or a script of the site that does not exist (404, 410).", "Correct the address in the page, or put the file there."),
    Rule("target.external", _W, "Dead links to other sites", "A page of another site was dead in two audits: it answered 404 or 410, its host name does not exist, or its certificate has expired.", "Change the link to the page that replaces it, or remove the link."),
    Rule("target.once", _N, "Links to other sites, dead once", "A page of another site was dead in this audit for the first time: it answered 404 or 410, its host name does not exist, or its certificate has expired.", "Wait for the next audit: it may be a passing fault of the other site."),
    Rule("page.title", _W, "Pages without a title", "The page has no title. Search results show a title that the search engine makes up.", "Give the page a title of its own.", _TITLE),
    Rule("page.same_title", _N, "Pages with the same title", "Several pages have the same title, although their texts differ.", "Give each page a title that says what only this page has.", _TITLE),
    Rule("page.copy", _W, "Pages with the same text", "Several pages have the same main text, and none names another one as its canonical.", "Let the copies name one page as the canonical, or redirect them to it.", _CANONICAL),
    Rule("page.data", _W, "JSON-LD that cannot be parsed", "A block of JSON-LD on the page is no valid JSON, even if common faults are forgiven. Search engines ignore it.", "Correct the block.", "https://developers.google.com/search/docs/appearance/structured-data/sd-policies"),
    Rule("media.image", _W, "Listed images that cannot be fetched", "The sitemap lists an image that cannot be fetched.", "Correct the image on the page that shows it. siteatlas crawl then lists the correct image. If another tool writes the sitemap, correct the sitemap."),
    Rule("media.video", _W, "Listed videos that cannot be fetched", "The sitemap lists a video, a player or a thumbnail that cannot be fetched.", "Correct the video on the page that shows it. siteatlas crawl then lists the correct video. If another tool writes the sitemap, correct the sitemap."),
)  # fmt: skip

RULES: Final = {rule.id: rule for rule in _TABLE}
"""All rules of the audit by their id, in the order of the reports."""

_OF_LINKS: Final = frozenset({"orphan", "weak", "place", "reach"})


def needs_complete(rule: str) -> bool:
    """Whether a page that the crawl did not see could disprove a finding of the rule."""
    return rule.partition(".")[0] in _OF_LINKS or rule == "render.orphan"


def rests_on_visits(rule: str) -> bool:
    """Whether a finding of the rule says that somebody visits a URL, so that a log of another site could cause it."""
    return rule in ("gone.visited", "gone.down")


ALL_RULES: Final = RULES | LINT
"""The rules of the audit and of lint, by id."""


WHY_LIKELY: Final = "Some pages failed, or their scripts were not run. One of them may show that this finding is wrong."


def why_unproven(rule: str) -> str:
    """Why uncertain findings of a rule are inconclusive, in a sentence."""
    if needs_complete(rule):
        return "The crawl did not read the whole site. A page that it did not read may show that this finding is wrong."
    if rests_on_visits(rule):
        return "Only a log contains this URL, and the log may contain requests for another site."
    return "Siteatlas could not read some sources completely. Their unread parts may show that this finding is wrong."


ORPHAN_FAMILIES: Final = frozenset({"orphan", "weak"})
"""The families of rules about pages that links do not lead to as they should: new links resolve their findings."""


class RuleGroup(Struct, frozen=True):
    """Rules that reports show together, under a title; ``name`` is its short form, in ASCII and without blanks."""

    name: str
    title: str
    rules: tuple[str, ...]


def heading_name(heading: str) -> str:
    """A heading of a group as a name: "Dead URLs" is "dead-urls"."""
    return "-".join(re.findall(r"[a-z0-9]+", heading.lower()))


def _rules_of(*families: str) -> tuple[str, ...]:
    return _worst_first(rule.id for family in families for rule in RULES.values() if rule.family == family)


def _worst_first(rules: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(rules, key=lambda rule_id: ALL_RULES[rule_id].severity, reverse=True))


RULE_GROUPS: Final = [
    RuleGroup("dead", "Dead URLs", _rules_of("lost", "gone")),
    RuleGroup("health", "Sitemap health", _rules_of("declared", "entry", "listed")),
    RuleGroup("links", "Redirects and canonicals", _rules_of("canonical", "link")),
    RuleGroup("orphans", "Orphans", _rules_of("orphan")),
    RuleGroup("weak", "Weakly linked", _rules_of("weak", "place")),
    RuleGroup("hreflang", "hreflang", _rules_of("cluster")),
    RuleGroup("render", "Pages that scripts change", _rules_of("render")),
    RuleGroup("google", "Indexing", _rules_of("google")),
    RuleGroup("targets", "Dead link targets", _rules_of("target")),
    RuleGroup("pages", "Titles and texts", _rules_of("page")),
    RuleGroup("media", "Images and videos", _rules_of("media")),
    RuleGroup("lint", "Lint of the sitemaps", _worst_first(LINT)),
    RuleGroup("reach", "Hard to reach", _rules_of("reach")),
    RuleGroup("bots", "Bot activity", _rules_of("bots")),
]

REPORTED_RULES: Final = {rule: ALL_RULES[rule] for group in RULE_GROUPS for rule in group.rules}

OWN: Final = "own"
"""The family and the group of the rules that a configuration adds (``[audit.rules.NAME]``)."""


def register_own_rules(rules: Iterable[Rule]) -> None:
    """Add the rules of a configuration to the tables, in place of those of the audit before in this process."""
    added = {rule.id: rule for rule in rules}
    for table in (RULES, ALL_RULES, REPORTED_RULES):
        for rule_id in [known for known, rule in table.items() if rule.family == OWN]:
            del table[rule_id]
        table.update(added)
    RULE_GROUPS[:] = [group for group in RULE_GROUPS if group.name != OWN]
    if added:
        RULE_GROUPS.append(RuleGroup(OWN, "Rules of your own", _worst_first(added)))
