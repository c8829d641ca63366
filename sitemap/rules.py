"""The rules of the linter, in one table, what a rule is, and findings: the defects of a document, in bounded number.

An id never changes its meaning and is never reused. An *error* makes a file or an entry invalid or unusable. A
*warning* makes search engines distrust or skip something. A *note* needs no action.
"""

import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import force_setattr

from sitemap.escape import shorten


class Severity(StrEnum):
    """The severity of a finding, worst first. A worse severity is greater: ``ERROR > NOTE``."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def _rank(self) -> int:
        return -list(Severity).index(self)

    # A severity compares with other strings as a string.
    def __lt__(self, other: str) -> bool:
        return self._rank < other._rank if isinstance(other, Severity) else str.__lt__(self, other)

    def __le__(self, other: str) -> bool:
        return self == other or self < other

    def __gt__(self, other: str) -> bool:
        return not self <= other

    def __ge__(self, other: str) -> bool:
        return not self < other


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the linter or the audit.

    ``title`` is the heading of its findings, ``remedy`` says what to do about them. ``sentence`` is what the rule
    requires (linter), or what its findings have in common (audit). ``source`` is the URL of the rule's source, or "".
    """

    id: str
    severity: Severity
    title: str
    sentence: str
    remedy: str
    source: str = ""

    @property
    def family(self) -> str:
        """The part of the id before the dot."""
        return self.id.partition(".")[0]


_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE
_PROTOCOL = "https://www.sitemaps.org/protocol.html"
_XSD = "https://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd"
_XML = "https://www.w3.org/TR/xml/"
_GOOGLE = "https://developers.google.com/search/docs/crawling-indexing/sitemaps/"
_RETIRED = "https://developers.google.com/search/blog/2022/05/spring-cleaning-sitemap-extensions"
_LASTMOD = "https://developers.google.com/search/blog/2023/06/sitemaps-lastmod-ping"
_HREFLANG = "https://developers.google.com/search/docs/specialty/international/localized-versions"

_TABLE: Final = (
    # The document.
    Rule("sitemap.not_xml", _E, "Not a sitemap", "A sitemap must be XML, a feed or a list of URLs. An HTML page or another file is not a sitemap.", "Let the server return the sitemap at this URL.", _PROTOCOL + "#otherformats"),
    Rule("sitemap.empty", _E, "Empty file", "A sitemap must not be empty.", "Generate the file again.", _PROTOCOL + "#xmlTagDefinitions"),
    Rule("sitemap.encoding", _E, "Not UTF-8", "The encoding must be UTF-8, and the XML declaration must not name another encoding.", "Write the file in UTF-8, and declare UTF-8.", _PROTOCOL + "#xmlTagDefinitions"),
    Rule("sitemap.leading_junk", _E, "Something before the XML declaration", "The file must begin with the XML declaration. Not even a blank line may stand before it.", "Start the file with its XML declaration, without blanks or lines before it.", _XML + "#sec-prolog-dtd"),
    Rule("sitemap.dtd", _E, "DOCTYPE", "A sitemap must not have a DOCTYPE. Readers reject it, because the entities of a DOCTYPE can be an attack.", "Remove the DOCTYPE.", _XML + "#sec-prolog-dtd"),
    Rule("sitemap.root", _E, "Unknown root element", "The root element must be urlset, sitemapindex, or the root element of a feed (rss, feed).", "Use the root element urlset, or sitemapindex for a list of sitemaps.", _PROTOCOL + "#xmlTagDefinitions"),
    Rule("sitemap.namespace", _E, "Wrong namespace", "The namespace must be exactly http://www.sitemaps.org/schemas/sitemap/0.9.", "Correct the namespace to http://www.sitemaps.org/schemas/sitemap/0.9.", _PROTOCOL + "#xmlTagDefinitions"),
    Rule("sitemap.extension_namespace", _E, "Wrong namespace of an extension", "An extension needs its exact namespace, and the file must declare the prefix of this namespace.", "Declare the prefix of the extension with the namespace that its documentation gives.", _GOOGLE + "combine-sitemap-extensions"),
    Rule("sitemap.not_well_formed", _E, "Broken XML", "The XML must be well-formed: & and < are escaped, all tags are closed, and there are no control characters.", "Write & as &amp; and < as &lt;, close all tags, and remove control characters. If an XML library writes the file, it does this for you.", _PROTOCOL + "#escaping"),
    Rule("sitemap.truncated", _E, "Ends too early", "The document must contain the end tag of its root element.", "Write or upload the whole file again, under a temporary name, and rename it at the end.", _XML + "#sec-well-formed"),
    Rule("sitemap.junk", _E, "Something after the end", "Nothing may follow the end of the root element.", "Remove what follows the end of the root element.", _XML + "#sec-well-formed"),
    Rule("sitemap.gzip", _E, "Broken gzip", "A compressed sitemap must be one valid gzip stream.", "Compress the file again, as one gzip stream.", "https://www.rfc-editor.org/rfc/rfc1952"),
    Rule("sitemap.gzip_twice", _W, "Compressed twice", "A sitemap must be compressed only once. A second compression is usually a mistake of the server.", "Compress the file once, and configure the server so that it does not compress the file again.", _PROTOCOL + "#index"),
    Rule("sitemap.mislabelled", _W, "Name and compression disagree", "The name of a compressed file must end in .gz. The name of an uncompressed file must not end in .gz.", "Rename the file, or change its compression.", _PROTOCOL + "#index"),
    Rule("sitemap.too_large", _E, "Larger than 50 MiB", "A sitemap may have at most 52,428,800 bytes, uncompressed.", "Split the file, and list its parts in an index.", _PROTOCOL + "#index"),
    Rule("sitemap.too_many", _E, "More than 50,000 entries", "A sitemap may have at most 50,000 entries.", "Split the file, and list its parts in an index.", _PROTOCOL + "#index"),
    Rule("sitemap.too_deep", _E, "Nested too deeply", "Elements must not be nested more deeply than in a sitemap format.", "Remove the elements that do not belong to a sitemap format.", _PROTOCOL + "#xmlTagDefinitions"),
    Rule("sitemap.token_too_long", _E, "Tag or text too long", "Tags, comments and texts must not be longer than readers accept.", "Shorten or remove the tag, the comment or the text.", _PROTOCOL + "#xmlTagDefinitions"),
    Rule("sitemap.value_too_long", _E, "Value too long", "A value must not be longer than its tag allows.", "Shorten or remove the value.", _PROTOCOL + "#xmlTagDefinitions"),
    Rule("sitemap.no_entries", _E, "No entries", "A urlset needs at least one url element, and an index needs at least one sitemap element.", "List the pages, or remove the file from robots.txt and from its index.", _XSD),
    Rule("sitemap.mixed", _E, "Pages and sitemaps mixed", "A urlset may contain only url elements, and a sitemapindex only sitemap elements.", "List pages and sitemaps in different files.", _PROTOCOL + "#index"),
    Rule("sitemap.order", _E, "Tags in the wrong order", "The tags must have this order: loc, lastmod, changefreq, priority, extensions.", "Put the tags in this order: loc, lastmod, changefreq, priority, extensions.", _XSD),
    Rule("sitemap.repeated", _E, "Tag repeated", "Most tags may occur only once in an entry.", "Keep one of the tags, and remove the others.", _XSD),
    Rule("sitemap.unknown_element", _E, "Unknown element", "The namespace of sitemaps may contain only the elements of its schema.", "Remove the element, or give it the prefix of its extension.", _XSD),
    Rule("sitemap.text_line", _E, "Line that is not a URL", "A text sitemap may contain only absolute URLs, one on each line.", "Write one absolute URL on each line, and nothing else.", _PROTOCOL + "#otherformats"),
    # Addresses.
    Rule("sitemap.loc_missing", _E, "Entry without a URL", "Every entry needs a loc.", "Give the entry its URL, or remove it.", _PROTOCOL + "#locdef"),
    Rule("sitemap.loc_relative", _E, "Relative URL", "A URL must be absolute, with its scheme and host.", "Write the whole URL, with https:// and the host.", _PROTOCOL + "#locdef"),
    Rule("sitemap.loc_invalid", _E, "Invalid URL", "A URL must be a valid http or https URL.", "Correct the URL, or remove the entry.", _PROTOCOL + "#locdef"),
    Rule("sitemap.loc_too_long", _E, "URL too long", "A URL must have fewer than 2,048 characters.", "Remove the entry, or give its page a shorter URL.", _PROTOCOL + "#locdef"),
    Rule("sitemap.loc_too_short", _E, "URL too short", "A loc must have at least 12 characters.", "Write the whole URL, with https:// and the host.", _XSD),
    Rule("sitemap.loc_encoding", _W, "URL not percent-encoded", "A URL must be percent-encoded where RFC 3986 requires it. For example, it must not contain spaces, brackets or a % without two digits.", "Percent-encode the characters that a URL must not contain.", _PROTOCOL + "#escaping"),
    Rule("sitemap.loc_not_ascii", _N, "URL not in ASCII", "A URL should contain only ASCII characters, because readers treat other characters in different ways.", "Percent-encode the path, and write the host in Punycode.", _PROTOCOL + "#escaping"),
    Rule("sitemap.loc_fragment", _W, "URL with a fragment", "A URL should have no fragment. Search engines ignore a # and the text after it.", "Remove the # and what follows it, and list the page once.", "https://developers.google.com/search/docs/crawling-indexing/url-structure"),
    Rule("sitemap.loc_credentials", _E, "URL with a password", "A URL must not contain a user name or a password.", "Remove the user name and the password, and change the password.", "https://www.rfc-editor.org/rfc/rfc9110#section-4.2.4"),
    Rule("location.outside", _E, "URL outside the sitemap's directory", "A sitemap may list only URLs in its own directory or below, with the same scheme, host and port.", "Move the sitemap to a directory that contains all listed URLs, or list these URLs in another sitemap.", _PROTOCOL + "#location"),
    Rule("location.other_host", _E, "URL of another host", "A sitemap may list URLs of another host only if the robots.txt of that host names this sitemap.", "Remove the URL, list it in a sitemap of that host, or name this sitemap in the robots.txt of that host.", _PROTOCOL + "#sitemaps_cross_submits"),
    Rule("location.several_hosts", _W, "URLs on several hosts", "This sitemap lists URLs of several hosts. A sitemap may do this only if the robots.txt of each other host names it. lint cannot check this, because it does not know the URL of this sitemap.", "Write a separate sitemap for each host, or name this sitemap in the robots.txt of each host.", _PROTOCOL + "#location"),
    Rule("duplicate.loc", _W, "URL listed twice in a file", "A file should list each URL only once.", "Remove all entries of the URL except one.", _PROTOCOL + "#locdef"),
    Rule("duplicate.across_files", _W, "URL listed in several files", "Only one of the files of a sitemap index should list a URL.", "List the URL in one of the files only.", _PROTOCOL + "#locdef"),
    # Indexes.
    Rule("index.nested", _E, "Index inside an index", "A sitemap index may list sitemaps, but not another index.", "List the sitemaps of the inner index in the outer one.", _PROTOCOL + "#index"),
    Rule("index.cycle", _E, "Index leads back to itself", "A sitemap index must not list itself, directly or through other indexes.", "Remove the entry that leads back to the index.", _PROTOCOL + "#index"),
    Rule("index.too_deep", _E, "Indexes nested too deeply", "Indexes must not be nested so deeply. lint did not read the files below this one.", "List the sitemaps in one index.", _PROTOCOL + "#index"),
    Rule("index.too_many", _E, "More than 50,000 sitemaps", "An index may list at most 50,000 sitemaps.", "Name several indexes in robots.txt.", _PROTOCOL + "#index"),
    Rule("index.outside", _E, "Sitemap outside the index's directory", "An index may list only sitemaps in its own directory or below.", "Move the sitemaps into the directory of the index, or move the index to a higher directory.", _GOOGLE + "large-sitemaps"),
    Rule("index.duplicate", _W, "Sitemap listed twice", "An index should list each sitemap only once.", "Remove all entries of the sitemap except one.", _PROTOCOL + "#index"),
    Rule("index.child_unreadable", _E, "Sitemap cannot be read", "Readers must be able to read every sitemap of an index.", "Correct the sitemap, or remove it from the index.", _PROTOCOL + "#index"),
    Rule("index.no_lastmod", _N, "Sitemaps without lastmod", "An index should state the lastmod of its sitemaps, so that crawlers fetch only changed sitemaps.", "Give each sitemap of the index the lastmod of its last change.", _GOOGLE + "large-sitemaps"),
    # Dates.
    Rule("lastmod.invalid", _E, "lastmod is not a date", "lastmod must be a date in the W3C format, of a day that exists.", "Write the date as YYYY-MM-DD, or leave it out.", _PROTOCOL + "#lastmoddef"),
    Rule("lastmod.form", _E, "lastmod in another form", "lastmod must have a form that the schema allows: YYYY-MM-DD, or YYYY-MM-DDThh:mm:ss with a time zone.", "Write the date as YYYY-MM-DD, or as YYYY-MM-DDThh:mm:ss+00:00.", _XSD),
    Rule("lastmod.future", _W, "lastmod in the future", "lastmod must not be in the future. Search engines reject such dates.", "Set lastmod to the date of the last significant change, or leave it out.", _LASTMOD),
    Rule("lastmod.too_old", _W, "lastmod too old", "lastmod must not be older than the web. A date in 1970 usually comes from a clock that is not set.", "Set lastmod to the date of the last significant change, or leave it out.", _LASTMOD),
    Rule("lastmod.all_equal", _W, "One lastmod for all pages", "All pages have the same lastmod. Pages usually change at different times, so this is probably the time of a build.", "Give each page the date of its own last change, or leave lastmod out.", _LASTMOD),
    Rule("lastmod.build_stamp", _W, "lastmod of a build", "Most pages have a lastmod within the same few minutes. This is probably the time of a build or an import, not of edits.", "Give each page the date of its own last change, or leave lastmod out.", _LASTMOD),
    Rule("lastmod.churn", _W, "Nearly all changed within a day", "Nearly all pages have a lastmod within one day. Search engines do not trust such dates, because few sites change all pages in a day.", "Change lastmod when the content of a page changes, not at every build.", _LASTMOD),
    Rule("changefreq.invalid", _E, "Invalid changefreq", "changefreq must be always, hourly, daily, weekly, monthly, yearly or never.", "Leave changefreq out: search engines do not read it.", _PROTOCOL + "#changefreqdef"),
    Rule("priority.invalid", _E, "Invalid priority", "priority must be a number from 0.0 to 1.0.", "Leave priority out: search engines do not read it.", _PROTOCOL + "#prioritydef"),
    Rule("hint.ignored", _N, "changefreq and priority", "No large search engine reads changefreq and priority; they only make the file larger.", "No action is needed; without the two tags the file is smaller.", _GOOGLE + "build-sitemap"),
    # Extensions.
    Rule("retired.tag", _W, "Retired tag", "This tag has no effect, because Google stopped its support in 2022 or no longer documents it.", "Remove the tag.", _RETIRED),
    Rule("image.loc_missing", _E, "Image without a URL", "Every image needs a loc with an absolute URL.", "Give the image its absolute URL, or remove it.", _GOOGLE + "image-sitemaps"),
    Rule("image.too_many", _E, "Too many images", "An entry may list at most 1,000 images.", "List the 1,000 images of the page that matter most.", _GOOGLE + "image-sitemaps"),
    Rule("video.missing_tag", _E, "Video without a required tag", "A video needs thumbnail_loc, title and description, and also content_loc or player_loc.", "Add the tags that the findings name, or remove the video.", _GOOGLE + "video-sitemaps"),
    Rule("video.url", _E, "Invalid URL of a video", "The URLs of a video must be absolute.", "Write whole URLs, with https:// and the host.", _GOOGLE + "video-sitemaps"),
    Rule("video.is_page", _E, "Video that is the page itself", "content_loc and player_loc must not be the URL of the page itself.", "Give the URL of the video file or its player, not of the page.", _GOOGLE + "video-sitemaps"),
    Rule("video.title_too_long", _W, "Video title too long", "The title of a video should have at most 100 characters.", "Shorten the title to 100 characters.", _GOOGLE + "video-sitemaps"),
    Rule("video.description_too_long", _E, "Video description too long", "The description of a video may have at most 2,048 characters.", "Shorten the description to 2,048 characters.", _GOOGLE + "video-sitemaps"),
    Rule("video.duration", _E, "Invalid video duration", "The duration of a video must be a whole number of seconds from 1 to 28,800.", "Write the whole seconds, from 1 to 28,800, or leave the tag out.", _GOOGLE + "video-sitemaps"),
    Rule("video.rating", _E, "Invalid video rating", "The rating of a video must be a number from 0.0 to 5.0.", "Write a number from 0.0 to 5.0, or leave the tag out.", _GOOGLE + "video-sitemaps"),
    Rule("video.view_count", _E, "Invalid video view count", "The view_count of a video must be a whole number.", "Write a whole number, or leave the tag out.", _GOOGLE + "video-sitemaps"),
    Rule("video.date", _E, "Invalid video date", "The dates of a video must have the W3C format.", "Write the date as YYYY-MM-DD, or with time and zone.", _GOOGLE + "video-sitemaps"),
    Rule("video.expired", _W, "Expired video", "The expiration_date of the video has passed. Search engines do not show an expired video.", "Remove the video, or correct the date.", _GOOGLE + "video-sitemaps"),
    Rule("video.yes_no", _E, "Neither yes nor no", "The values of family_friendly, requires_subscription and live must be yes or no.", "Write yes or no, or leave the tag out.", _GOOGLE + "video-sitemaps"),
    Rule("video.restriction", _E, "Invalid video restriction", "restriction needs a relationship (allow or deny) and ISO 3166 country codes.", "Write allow or deny, and ISO 3166 country codes.", _GOOGLE + "video-sitemaps"),
    Rule("video.platform", _E, "Invalid video platform", "platform needs a relationship (allow or deny) and at least one of web, mobile and tv.", "Write allow or deny, and some of web, mobile and tv.", _GOOGLE + "video-sitemaps"),
    Rule("video.uploader", _E, "Invalid video uploader", "uploader may have at most 255 characters. Its attribute info must be a URL on the domain of the page.", "Shorten the name to 255 characters, and set info to a URL on the page's domain.", _GOOGLE + "video-sitemaps"),
    Rule("video.too_many_tags", _E, "Too many video tags", "A video may have at most 32 tags.", "Keep the 32 tags that matter most.", _GOOGLE + "video-sitemaps"),
    Rule("news.missing_tag", _E, "News without a required tag", "A news article needs a publication with name and language, a publication_date and a title.", "Add the tags that the findings name, or remove the article.", _GOOGLE + "news-sitemap"),
    Rule("news.date", _E, "Invalid news date", "publication_date must have the W3C format.", "Write the date as YYYY-MM-DD, or with time and zone.", _GOOGLE + "news-sitemap"),
    Rule("news.language", _E, "Invalid news language", "The language of a publication must be an ISO 639 code of two or three letters, or zh-cn or zh-tw.", "Write the ISO 639 code of the language, zh-cn or zh-tw.", _GOOGLE + "news-sitemap"),
    Rule("news.too_old", _W, "News older than two days", "A news sitemap should list only articles of the last two days.", "Remove the news tags of articles older than two days.", _GOOGLE + "news-sitemap"),
    Rule("news.future", _W, "News from the future", "publication_date must not be in the future.", "Write the date when the article was first published.", _GOOGLE + "news-sitemap"),
    Rule("news.too_many", _E, "Too many news articles", "A news sitemap may list at most 1,000 articles.", "Split the file into files of at most 1,000 articles.", _GOOGLE + "news-sitemap"),
    Rule("hreflang.code", _E, "Listed hreflang: not a language", "hreflang must be x-default or an ISO 639-1 language. An ISO 15924 script and an ISO 3166-1 region may follow the language.", "Write the ISO 639-1 code of the language, and add a country if you need it, as in en or en-GB.", _HREFLANG + "#language-codes"),
    Rule("hreflang.url", _E, "Listed hreflang: relative or invalid URL", "The href of a language version must be an absolute URL.", "Write the whole URL, with https:// and the host.", _HREFLANG + "#sitemap"),
    Rule("hreflang.no_self", _E, "Listed hreflang: does not name itself", "The language versions of a page must include the page itself.", "In each entry, also list the page itself as a language version.", _HREFLANG + "#guidelines"),
    Rule("hreflang.not_mutual", _E, "Listed hreflang: no link back", "Language versions must list each other. Search engines ignore a version that does not list the page in return.", "In the entry of each version, list all versions.", _HREFLANG + "#guidelines"),
    Rule("hreflang.unlisted", _W, "Listed hreflang: version without an entry", "Every language version needs its own entry.", "Add an entry for every version.", _HREFLANG + "#sitemap"),
    Rule("hreflang.conflict", _E, "Listed hreflang: one language, several URLs", "A page may have only one URL for each language.", "Give one URL for each language.", _HREFLANG + "#guidelines"),
    Rule("hreflang.no_default", _N, "Listed hreflang: no x-default", "A page with language versions should name one of them as x-default, for visitors with other languages.", "If one version suits all visitors, name it as x-default.", _HREFLANG + "#xdefault"),
    Rule("feed.no_date", _N, "Feed item without a date", "A feed item should have a date, so that readers can see which items are new.", "Give each item the date of its last change.", _PROTOCOL + "#otherformats"),
)  # fmt: skip

RULES: Final = {rule.id: rule for rule in _TABLE}


MAX_FINDINGS: Final = 20  # kept per rule and document, by default


class Finding(Struct, frozen=True):
    """One defect: the id of the broken rule, a sentence that says what is wrong, and its place.

    ``file`` is the path or URL of the document, or "" if there is only one document. ``line`` counts from 1; 0 means no
    line. A finding of the reader has the line of the faulty element's start tag; a finding of the linter about an entry
    has the line of its ``url`` or ``sitemap`` tag. ``url`` is the URL that the finding is about, or "" if it is about a
    place in a file. ``times`` is the number of defects that it stands for: more than 1 if it sums up others.
    """

    rule: str
    sentence: str
    file: str = ""
    line: int = 0
    url: str = ""
    times: int = 1

    def __post_init__(self) -> None:
        if (short := shorten(self.sentence)) is not self.sentence:
            force_setattr(self, "sentence", short)

    @property
    def severity(self) -> Severity:
        """The severity of the rule."""
        return RULES[self.rule].severity


class FindingCollector:
    """Collects the findings of one document. Keeps the first ``limit`` of each rule (0: all) and counts the others."""

    def __init__(self, file: str = "", limit: int = MAX_FINDINGS) -> None:
        self.counts: dict[str, int] = {}  # by rule, also of findings that are not kept
        self._file = file
        self.limit = limit or sys.maxsize
        self._kept: list[Finding] = []
        self._repeats: set[Finding] = set()  # that the second reading will report again

    def read_again(self, line: int) -> None:
        """Note that the document is read a second time from this line on, so that no finding is added twice."""
        self._repeats = {finding for finding in self._kept if finding.line >= line}

    def add(self, rule: str, line: int, sentence: str) -> None:
        """Add one finding. The caller quotes document text with :func:`sitemap.escape.quote_text`."""
        if self._repeats and (repeat := self._finding(rule, line, sentence)) in self._repeats:
            self._repeats.remove(repeat)
            return
        count = self.counts[rule] = self.counts.get(rule, 0) + 1
        if count <= self.limit:
            self._kept.append(self._finding(rule, line, sentence))

    def has_room(self, rule: str) -> bool:
        """Whether one more finding of a rule would be kept."""
        return self.counts.get(rule, 0) < self.limit

    def count(self, rule: str, times: int) -> None:
        """Count more findings of a rule whose limit is reached."""
        if times:
            self.counts[rule] = self.counts.get(rule, 0) + times

    def all(self) -> tuple[Finding, ...]:
        """The kept findings in order, then one for each rule with more findings that states their number."""
        more = tuple(
            self._finding(rule, 0, f"and {count - self.limit:,} more like these", count - self.limit)
            for rule, count in self.counts.items()
            if count > self.limit
        )
        return (*self._kept, *more)

    def _finding(self, rule: str, line: int, sentence: str, times: int = 1) -> Finding:
        return Finding(rule, sentence, self._file, line, times=times)
