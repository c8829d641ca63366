"""The table of what an audit looks for: a stable id, how bad it is, what it means and what to do about it."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from crawler.audit.finding import AuditReport, Count
from sitemap import RULES as LINT
from sitemap import Severity


class AuditRule(Struct, frozen=True):
    """One rule. ``title`` heads a list of its findings, ``sentence`` says what they have in common, ``remedy`` what helps.

    ``needs_complete``: an unseen page could prove a finding wrong, so it is conclusive only after a complete crawl.
    ``source`` is the URL where the rule, or the advice, is written, or "".
    """

    id: str
    severity: Severity
    title: str
    sentence: str
    remedy: str
    needs_complete: bool = False
    source: str = ""

    @property
    def family(self) -> str:
        """The part of the id before the dot."""
        return self.id.partition(".")[0]


_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

_LINKS = "https://developers.google.com/search/docs/crawling-indexing/links-crawlable"

_SITEMAPS = "https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap"

_CANONICAL = "https://developers.google.com/search/docs/crawling-indexing/consolidate-duplicate-urls"

_HREFLANG = "https://developers.google.com/search/docs/specialty/international/localized-versions"

_REDIRECT = "https://developers.google.com/search/docs/crawling-indexing/301-redirects"

_CHAIN = "https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes"

_LASTMOD = "https://developers.google.com/search/blog/2023/06/sitemaps-lastmod-ping"


_TABLE: Final = (
    AuditRule("orphan.sitemap", _W, "In the sitemap only", "An indexable page is in a sitemap, and nothing on the site leads to it.", "Link to it from a page that people reach, or take it out of the sitemap.", True, _LINKS),
    AuditRule("orphan.search", _W, "In search or analytics only", "An indexable page is found by searchers or counted by analytics, and neither links nor sitemaps lead to it.", "Link to it and list it, or let it go with a redirect or 410.", True, _LINKS),
    AuditRule("orphan.log", _W, "In the logs only", "An indexable page is requested, and neither links nor sitemaps lead to it.", "Link to it and list it, or let it go with a redirect or 410.", True, _LINKS),
    AuditRule("orphan.list", _W, "In lists, backlinks or another crawl only", "An indexable page is named by a list, by other sites or by another crawl, and neither links nor sitemaps lead to it.", "Link to it and list it, or let it go with a redirect or 410.", True, _LINKS),
    AuditRule("orphan.island", _W, "Cut-off islands", "Pages link to one another, and nothing leads from the start to any of them.", "Link to one page of each island.", True, _LINKS),
    AuditRule("weak.redirect", _W, "Linked through redirects only", "Every link to the page goes to another URL that redirects to it.", "Let the links name the page itself.", True, _LINKS),
    AuditRule("weak.canonical", _W, "Linked by way of other pages' canonicals only", "Only pages that name another as canonical link to it, or it is known as a canonical only.", "Link to the canonical page itself, from pages that are canonical.", True, _CANONICAL),
    AuditRule("weak.noindex", _W, "Linked from noindexed pages only", "Every page that links to it says noindex, and such links are forgotten in time.", "Link to it from a page that is indexed.", True, _LINKS),
    AuditRule("weak.nofollow", _W, "Linked by nofollow only", "Every link to it says nofollow.", "Let one link be followed.", True, _LINKS),
    AuditRule("weak.head", _N, "Named without a link", "Only hreflang, next/prev, AMP links or feeds name it, which nobody can click.", "Link to it in the text of a page.", True, _LINKS),
    AuditRule("reach.deep", _N, "Deep pages", "The page is more clicks away from the start than --max-clicks.", "Link to it from a page nearer to the start.", True),
    AuditRule("reach.few", _N, "Pages with few inlinks", "Not more than --few-inlinks other pages link to it, and most pages of the site have more.", "Link to it from related pages.", True),
    AuditRule("listed.missing", _W, "Linked, but not in the sitemap", "An indexable page that the site links is in none of its sitemaps.", "List it: siteatlas crawl makes such a sitemap.", False, _SITEMAPS),
    AuditRule("listed.series", _N, "Linked, not in the sitemap, and one of a series", "A page of a list in pages (/page/2/, ?page=2) is in no sitemap.", "Nothing, unless search engines are to find it by itself.", False, _SITEMAPS),
    AuditRule("gone.visited", _W, "Dead, but visited", "The URL answers no longer, and people, bots, searchers or other sites still come.", "Redirect it to what took its place."),
    AuditRule("gone.named", _N, "Gone, but named", "A list, another crawl or a console names a URL that is gone, and nobody is known to visit it.", "Redirect it to what took its place, or drop it from the list."),
    AuditRule("gone.linked", _W, "Dead, but linked", "Pages of the site link to a URL that answers no longer.", "Mend or remove the links."),
    AuditRule("gone.failing", _W, "Failing, but linked", "Pages of the site link to a URL that failed today: 5xx, no answer, redirects in a circle.", "See what the server's log says of it, and mend it or the links."),
    AuditRule("gone.down", _W, "Failing, but visited", "People, bots, searchers or other sites come to a URL that no page links and that failed today: 5xx, no answer, redirects in a circle.", "See what the server's log says of it, and mend it, or redirect it to what took its place."),
    AuditRule("canonical.lost", _E, "Lost to its canonical", "A page that could be indexed names as its canonical what cannot be: something gone, noindexed, blocked, or that leads back. Neither of the two gets into a sitemap.", "Let it name itself, or a page that can be indexed.", False, _CANONICAL),
    AuditRule("canonical.chain", _W, "Canonical that is none itself", "A page names as its canonical a URL that redirects, or that names another as its own.", "Name the page where these lead to in the end.", False, _CANONICAL),
    AuditRule("link.chain", _W, "Redirects in a row", "Pages of the site, or its sitemaps, name a URL that redirects to one that has moved for good itself, or more than three times in a row.", "Let the first redirect lead to where the others end at once, and the links and the sitemap name that. What redirects for now (302, 303, 307) keeps its name.", False, _CHAIN),
    AuditRule("link.redirect", _N, "Links to redirects", "Pages of the site link to a URL that redirects for good to another of its URLs.", "Let the links name where it leads to for good.", False, _REDIRECT),
    AuditRule("declared.unreadable", _E, "Named as a sitemap, and none", "robots.txt names a sitemap that cannot be read.", "Mend it, or take the line out of robots.txt.", False, _SITEMAPS),
    AuditRule("entry.gone", _E, "Listed, but gone", "The sitemap lists a URL that answers 4xx.", "Take it out of the sitemap.", False, _SITEMAPS),
    AuditRule("entry.failed", _W, "Listed, but failing", "The sitemap lists a URL that brought no page today: 5xx, no answer, redirects in a circle.", "See what the server's log says of it."),
    AuditRule("entry.refused", _W, "Listed, but refused", "The sitemap lists a URL that asks for a login or is forbidden (401, 403).", "Take it out of the sitemap, or open it to everybody.", False, _SITEMAPS),
    AuditRule("entry.redirect", _W, "Listed, but redirected", "The sitemap lists a URL that redirects.", "List where it leads to.", False, _SITEMAPS),
    AuditRule("entry.outside", _W, "Listed under another name of the site", "The sitemap lists URLs with another scheme than the site's, or with or without www.", "List the URLs of the site itself, and redirect its other names to it.", False, _SITEMAPS),
    AuditRule("entry.noindex", _E, "Listed, but noindexed", "The sitemap lists a page that asks not to be indexed.", "Take one of the two back.", False, _SITEMAPS),
    AuditRule("entry.blocked", _E, "Listed, but blocked by robots.txt", "The sitemap lists a URL that robots.txt forbids to fetch.", "Allow it, or take it out of the sitemap.", False, _SITEMAPS),
    AuditRule("entry.canonical", _E, "Listed, but not canonical", "The sitemap lists a page that names another as its canonical.", "List the canonical page.", False, _CANONICAL),
    AuditRule("entry.duplicate", _W, "Listed in several spellings", "Several entries of the sitemaps are one page.", "List the canonical spelling, once.", False, _CANONICAL),
    AuditRule("entry.lastmod_late", _W, "lastmod later than any change", "The sitemap says that the page changed after its last change.", "Let lastmod be the date of the last significant change.", False, _LASTMOD),
    AuditRule("entry.lastmod_early", _W, "lastmod before the last change", "The page changed after the date that the sitemap tells.", "Let lastmod be the date of the last significant change.", False, _LASTMOD),
    AuditRule("cluster.code", _E, "hreflang: no language", "A page names a version under what is no language that search engines know.", "Write the ISO 639-1 code of the language, with a country behind it if one is meant.", False, _HREFLANG),
    AuditRule("cluster.not_mutual", _E, "hreflang: no link back", "A page names another as its version in a language, and that one does not name it back.", "Let all versions name one another.", False, _HREFLANG),
    AuditRule("cluster.no_self", _E, "hreflang: does not name itself", "A page names its versions in other languages and not itself.", "Let each page name itself too.", False, _HREFLANG),
    AuditRule("cluster.no_default", _N, "hreflang: no x-default", "No version is named for all other languages.", "Name one as x-default, if there is one for everybody.", False, _HREFLANG),
    AuditRule("cluster.target", _E, "hreflang: names what is no page", "A version that is named does not answer 200, redirects, says noindex or is not canonical.", "Name the canonical page, or none.", False, _HREFLANG),
    AuditRule("cluster.label", _W, "hreflang: another language than the page's own", "The language under which a page is named is not the one that its html element states.", "Correct the one that is wrong.", False, _HREFLANG),
    AuditRule("cluster.swapped", _E, "hreflang: labels swapped", "Two versions are named under each other's language.", "Swap the labels.", False, _HREFLANG),
    AuditRule("cluster.conflict", _E, "hreflang: statements disagree", "One label stands for several pages, or page and sitemap say different things.", "State each version once, in one place.", False, _HREFLANG),
    AuditRule("media.image", _W, "Listed images that do not answer", "The sitemap lists an image that cannot be had.", "Mend the image on the page that shows it: siteatlas crawl lists what pages show. Out of a sitemap that is made otherwise, take it too."),
    AuditRule("media.video", _W, "Listed videos that do not answer", "The sitemap lists a video, a player or a thumbnail that cannot be had.", "Mend it on the page that shows it: siteatlas crawl lists what pages show. Out of a sitemap that is made otherwise, take it too."),
)  # fmt: skip

RULES: Final = {rule.id: rule for rule in _TABLE}

"""All rules by their id, in the order in which they are told."""


LINT_TOLD: Final = {
    "sitemap.not_xml": ("No sitemap at all", "Let the URL answer with the sitemap itself: the server sends something else there."),
    "sitemap.empty": ("Empty file", "Write the file anew: what made it left it empty."),
    "sitemap.encoding": ("Not UTF-8", "Write the file in UTF-8, and let its declaration say so."),
    "sitemap.leading_junk": ("Something before the XML declaration", "Let the file begin with its XML declaration, without blanks or lines before it."),
    "sitemap.dtd": ("DOCTYPE", "Take the DOCTYPE out."),
    "sitemap.root": ("Unknown root element", "Let the root element be urlset, or sitemapindex for a list of sitemaps."),
    "sitemap.namespace": ("Wrong namespace", "Correct the namespace to http://www.sitemaps.org/schemas/sitemap/0.9."),
    "sitemap.extension_namespace": ("Wrong namespace of an extension", "Declare the prefix of the extension with the namespace that its documentation gives."),
    "sitemap.not_well_formed": ("Broken XML", "Write & as &amp; and < as &lt;, close every tag, and drop control characters: an XML library does all that."),
    "sitemap.truncated": ("Ends too early", "Write or upload the file anew, as a whole, and rename it into place."),
    "sitemap.junk": ("Something behind the end", "Take out what follows the end of the root element."),
    "sitemap.gzip": ("Broken gzip", "Pack the file anew, as one gzip stream."),
    "sitemap.gzip_twice": ("Packed twice", "Pack the file once, and let the server not pack it again."),
    "sitemap.mislabelled": ("Name and packing disagree", "Let the name end in .gz exactly if the file is packed."),
    "sitemap.too_large": ("Larger than 50 MiB", "Split the file, and list its parts in an index."),
    "sitemap.too_many": ("More than 50,000 entries", "Split the file, and list its parts in an index."),
    "sitemap.too_deep": ("Nested too deeply", "Take out the elements that no sitemap has."),
    "sitemap.token_too_long": ("Tag or text too long", "Shorten the tag, the comment or the text, or take it out."),
    "sitemap.value_too_long": ("Value too long", "Shorten the value, or take it out."),
    "sitemap.no_entries": ("No entries", "List the pages, or take the file out of robots.txt and of its index."),
    "sitemap.mixed": ("Pages and sitemaps mixed", "List pages and sitemaps in different files."),
    "sitemap.order": ("Tags in the wrong order", "Bring the tags into this order: loc, lastmod, changefreq, priority, extensions."),
    "sitemap.repeated": ("Tag repeated", "Leave one of the tags, and take out the others."),
    "sitemap.unknown_element": ("Unknown element", "Take the element out, or give it the prefix of its extension."),
    "sitemap.text_line": ("Line that is no URL", "Leave one absolute URL on each line, and nothing else."),
    "sitemap.loc_missing": ("Entry without a URL", "Give the entry its URL, or take it out."),
    "sitemap.loc_relative": ("Relative URL", "Write the whole URL, with https:// and the host."),
    "sitemap.loc_invalid": ("Invalid URL", "Correct the URL, or take the entry out."),
    "sitemap.loc_too_long": ("URL too long", "Take the entry out, or give its page a shorter URL."),
    "sitemap.loc_too_short": ("URL too short", "Write the whole URL, with https:// and the host."),
    "sitemap.loc_encoding": ("URL not percent-encoded", "Percent-encode what no URL may hold as it is."),
    "sitemap.loc_not_ascii": ("URL not in ASCII", "Percent-encode the path, and write the host in Punycode."),
    "sitemap.loc_fragment": ("URL with a fragment", "Take out the # and what follows it, and list the page once."),
    "sitemap.loc_credentials": ("URL with a password", "Take out the user name and the password, and change the password."),
    "location.outside": ("URL outside the sitemap's directory", "Move the sitemap up to the directory that holds all it lists, or list these URLs in one of their own."),
    "location.other_host": ("URL of another host", "Take it out, list it in a sitemap there, or name this one in the robots.txt of that host."),
    "duplicate.loc": ("URL listed twice in a file", "Take out all entries of the URL but one."),
    "duplicate.across_files": ("URL listed in several files", "List the URL in one of the files only."),
    "index.nested": ("Index inside an index", "List the sitemaps of the inner index in the outer one."),
    "index.cycle": ("Index leads back to itself", "Take out the entry that leads back."),
    "index.too_deep": ("Indexes nested too deeply", "List the sitemaps in one index."),
    "index.too_many": ("More than 50,000 sitemaps", "Name several indexes in robots.txt."),
    "index.outside": ("Sitemap outside the index's directory", "Move the sitemaps below the index's directory, or the index up."),
    "index.duplicate": ("Sitemap listed twice", "Take out all entries of the sitemap but one."),
    "index.child_unreadable": ("Sitemap cannot be read", "Mend the sitemap, or take it out of the index."),
    "index.no_lastmod": ("Sitemaps without lastmod", "Let the index tell when each of its sitemaps changed last."),
    "lastmod.invalid": ("lastmod is no date", "Write the date as YYYY-MM-DD, or leave it out."),
    "lastmod.form": ("lastmod in another form", "Write the date as YYYY-MM-DD, or with time, seconds and zone."),
    "lastmod.future": ("lastmod in the future", "Let lastmod be the date of the last significant change, or leave it out."),
    "lastmod.too_old": ("lastmod too old", "Let lastmod be the date of the last significant change, or leave it out."),
    "lastmod.all_equal": ("One lastmod for all pages", "Let each page have the date of its own last change, or leave lastmod out."),
    "lastmod.build_stamp": ("lastmod of a build", "Let each page have the date of its own last change, or leave lastmod out."),
    "lastmod.churn": ("Nearly all changed within a day", "Move lastmod when the content of a page changes, and not at every build."),
    "changefreq.invalid": ("Invalid changefreq", "Leave changefreq out: search engines do not read it."),
    "priority.invalid": ("Invalid priority", "Leave priority out: search engines do not read it."),
    "hint.ignored": ("changefreq and priority", "Nothing needs to be done; without the two tags the file is smaller."),
    "retired.tag": ("Retired tag", "Take the tag out."),
    "retired.value": ("Retired tag with an invalid value", "Take the tag out."),
    "image.loc_missing": ("Image without a URL", "Give the image its absolute URL, or take it out."),
    "image.too_many": ("Too many images", "List the 1,000 images of the page that matter most."),
    "video.missing_tag": ("Video without a required tag", "Add the tags that the findings name, or take the video out."),
    "video.url": ("Invalid URL of a video", "Write whole URLs, with https:// and the host."),
    "video.is_page": ("Video that is the page itself", "Name the file of the video, or its player, and not the page."),
    "video.title_too_long": ("Video title too long", "Shorten the title to 100 characters."),
    "video.description_too_long": ("Video description too long", "Shorten the description to 2,048 characters."),
    "video.duration": ("Invalid video duration", "Write the whole seconds, from 1 to 28,800, or leave the tag out."),
    "video.rating": ("Invalid video rating", "Write a number from 0.0 to 5.0, or leave the tag out."),
    "video.view_count": ("Invalid video view count", "Write a whole number, or leave the tag out."),
    "video.date": ("Invalid video date", "Write the date as YYYY-MM-DD, or with time and zone."),
    "video.expired": ("Expired video", "Take the video out, or correct the date."),
    "video.yes_no": ("Neither yes nor no", "Write yes or no, or leave the tag out."),
    "video.restriction": ("Invalid video restriction", "Write allow or deny, and the codes of countries as ISO 3166 has them."),
    "video.platform": ("Invalid video platform", "Write allow or deny, and some of web, mobile and tv."),
    "video.uploader": ("Invalid video uploader", "Shorten the name to 255 characters, and let info be a URL of the page's domain."),
    "video.too_many_tags": ("Too many video tags", "Leave the 32 tags that matter most."),
    "news.missing_tag": ("News without a required tag", "Add the tags that the findings name, or take the article out."),
    "news.date": ("Invalid news date", "Write the date as YYYY-MM-DD, or with time and zone."),
    "news.language": ("Invalid news language", "Write the ISO 639 code of the language, zh-cn or zh-tw."),
    "news.too_old": ("News older than two days", "Take out the news tags of articles older than two days."),
    "news.future": ("News from the future", "Write the date when the article was first published."),
    "news.too_many": ("Too many news articles", "Split the file: 1,000 articles in each."),
    "hreflang.code": ("Listed hreflang: no language", "Write the ISO 639-1 code of the language, with a country behind it if one is meant."),
    "hreflang.url": ("Listed hreflang: relative or invalid URL", "Write the whole URL, with https:// and the host."),
    "hreflang.no_self": ("Listed hreflang: does not name itself", "Let each entry name its own page too."),
    "hreflang.not_mutual": ("Listed hreflang: no link back", "Let the entries of all versions name one another."),
    "hreflang.unlisted": ("Listed hreflang: version without an entry", "List every version in an entry of its own."),
    "hreflang.conflict": ("Listed hreflang: one language, several URLs", "Name one URL for each language."),
    "hreflang.no_default": ("Listed hreflang: no x-default", "Name one version as x-default, if there is one for everybody."),
    "feed.no_date": ("Feed item without a date", "Give each item the date of its last change."),
}  # fmt: skip

"""By the id of the rule (:data:`sitemap.RULES`): all of them."""


class Group(Struct, frozen=True):
    """Rules that are told together, under a title; ``name`` is its short form, in ASCII and without blanks."""

    name: str
    title: str
    rules: tuple[str, ...]

    def counts(self, report: AuditReport) -> list[Count]:
        """Those of the rules that have findings, in the order in which they are told."""
        found = {each.rule: each for each in report.counts if each.total}
        return [found[each] for each in self.rules if each in found]


def _of_lint(rule: str) -> AuditRule:
    """A rule of lint, which says what a sitemap is to be."""
    told, (title, remedy) = LINT[rule], LINT_TOLD[rule]
    return AuditRule(rule, told.severity, title, told.sentence, remedy, source=told.source)


def _of(*families: str) -> tuple[str, ...]:
    return _worst_first(each.id for family in families for each in RULES.values() if each.family == family)


def _worst_first(rules: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(rules, key=lambda each: (RULES.get(each) or LINT[each]).severity, reverse=True))


GROUPS: Final = (
    Group("dead", "Dead", _of("gone")),
    Group("health", "Sitemap health", _of("declared", "entry", "listed")),
    Group("links", "Redirects and canonicals", _of("canonical", "link")),
    Group("orphans", "Orphans", _of("orphan")),
    Group("weak", "Weakly linked", _of("weak")),
    Group("hreflang", "hreflang", _of("cluster")),
    Group("media", "Images and videos", _of("media")),
    Group("lint", "Lint of the sitemaps", _worst_first(LINT)),
    Group("reach", "Hard to reach", _of("reach")),
)

"""Every rule is in one of these, the worst first. What is broken comes first, what could be better last."""


TOLD: Final = {each: RULES.get(each) or _of_lint(each) for group in GROUPS for each in group.rules}

"""Every rule that a finding may have, by its id, in the order in which they are told."""


def unproven(rule: str) -> str:
    """Why findings of a rule that are not certain are inconclusive, in a sentence."""
    if TOLD[rule].needs_complete:
        return "The crawl did not see all of the site: a page that it did not see may prove this wrong."
    return "Not all of the sources could be read: what was not read may prove this wrong."


def suites(report: AuditReport) -> list[tuple[Group, list[str]]]:
    """The groups with the rules that a report speaks of: all of the audit, and those of lint that were broken.

    If nobody looked at what lint looks at, its first rule stands for all of them.
    """
    broken = {each.rule for each in report.counts if each.total}
    told = []
    for group in GROUPS:
        some = [rule for rule in group.rules if rule in RULES or rule in broken]
        told.append((group, some or list(group.rules[:1] if group.name in report.unchecked else ())))
    return [(group, rules) for group, rules in told if rules]
