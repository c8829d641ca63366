"""Owns the table of rules that a sitemap is checked against: a stable id, how bad it is, a sentence, and the source.

Ids never change their meaning and are never used again. An *error* makes a file or an entry invalid or unusable, a
*warning* makes search engines distrust or skip something, a *note* is worth knowing and nothing more.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """How bad a finding is, the worst first. The worse is the greater: ``ERROR > NOTE``, and ``max`` is the worst."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def _rank(self) -> int:
        return -list(Severity).index(self)

    # Against another text a severity is compared as the text that it is.
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
    """One rule: its id, how bad it is to break it, what it demands in a sentence, and where that is written."""

    id: str
    severity: Severity
    sentence: str
    source: str


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
    ("sitemap.not_xml", _E, "A sitemap is XML, a feed or a list of URLs, not an HTML page or anything else.", _PROTOCOL + "#otherformats"),
    ("sitemap.empty", _E, "A sitemap has content.", _PROTOCOL + "#xmlTagDefinitions"),
    ("sitemap.encoding", _E, "The encoding is UTF-8, and the declaration says no other.", _PROTOCOL + "#xmlTagDefinitions"),
    ("sitemap.leading_junk", _E, "Nothing, not even a blank line, stands before the XML declaration.", _XML + "#sec-prolog-dtd"),
    ("sitemap.dtd", _E, "There is no DOCTYPE: readers refuse it, because entities can be traps.", _XML + "#sec-prolog-dtd"),
    ("sitemap.root", _E, "The root element is urlset, sitemapindex, or that of a feed.", _PROTOCOL + "#xmlTagDefinitions"),
    ("sitemap.namespace", _E, "The namespace is http://www.sitemaps.org/schemas/sitemap/0.9, letter by letter.", _PROTOCOL + "#xmlTagDefinitions"),
    ("sitemap.extension_namespace", _E, "An extension has its own namespace, letter by letter, and its prefix is declared.", _GOOGLE + "combine-sitemap-extensions"),
    ("sitemap.not_well_formed", _E, "The XML is well-formed: & < > are escaped, tags are closed, no control characters.", _PROTOCOL + "#escaping"),
    ("sitemap.truncated", _E, "The document ends where its root element ends.", _XML + "#sec-well-formed"),
    ("sitemap.junk", _E, "Nothing stands behind the end of the root element.", _XML + "#sec-well-formed"),
    ("sitemap.gzip", _E, "A packed sitemap is one sound gzip stream.", "https://www.rfc-editor.org/rfc/rfc1952"),
    ("sitemap.gzip_twice", _W, "A sitemap is packed once; what is packed twice is usually a server's mistake.", _PROTOCOL + "#index"),
    ("sitemap.mislabelled", _W, "A file is packed exactly when its name ends in .gz.", _PROTOCOL + "#index"),
    ("sitemap.too_large", _E, "A sitemap has at most 52,428,800 bytes, unpacked.", _PROTOCOL + "#index"),
    ("sitemap.too_many", _E, "A sitemap has at most 50,000 entries.", _PROTOCOL + "#index"),
    ("sitemap.too_deep", _E, "Elements are not nested deeper than any format needs.", _PROTOCOL + "#xmlTagDefinitions"),
    ("sitemap.token_too_long", _E, "No tag, comment or text is longer than readers will hold.", _PROTOCOL + "#xmlTagDefinitions"),
    ("sitemap.value_too_long", _E, "No value is longer than any tag may be.", _PROTOCOL + "#xmlTagDefinitions"),
    ("sitemap.no_entries", _E, "A urlset has at least one url, an index at least one sitemap; of an empty news sitemap Google only warns.", _XSD),
    ("sitemap.mixed", _E, "A urlset holds url elements only, a sitemapindex sitemap elements only.", _PROTOCOL + "#index"),
    ("sitemap.order", _E, "loc, lastmod, changefreq, priority come in this order, extensions after them.", _XSD),
    ("sitemap.repeated", _E, "A tag that may occur once occurs once.", _XSD),
    ("sitemap.unknown_element", _E, "Only the elements of the schema occur in the sitemap's namespace.", _XSD),
    ("sitemap.text_line", _E, "A text sitemap has one absolute URL on each line and nothing else.", _PROTOCOL + "#otherformats"),
    # Addresses.
    ("sitemap.loc_missing", _E, "Every entry has a loc.", _PROTOCOL + "#locdef"),
    ("sitemap.loc_relative", _E, "A URL is absolute, with its protocol and host.", _PROTOCOL + "#locdef"),
    ("sitemap.loc_invalid", _E, "A URL is one that http or https can fetch.", _PROTOCOL + "#locdef"),
    ("sitemap.loc_too_long", _E, "A URL has fewer than 2,048 characters.", _PROTOCOL + "#locdef"),
    ("sitemap.loc_too_short", _E, "A loc has at least 12 characters.", _XSD),
    ("sitemap.loc_encoding", _W, "A URL is percent-encoded where RFC 3986 wants it: no blanks, no brackets, no stray %.", _PROTOCOL + "#escaping"),
    ("sitemap.loc_not_ascii", _N, "A URL is written in ASCII; readers differ in what they do with others.", _PROTOCOL + "#escaping"),
    ("sitemap.loc_fragment", _W, "A URL has no fragment: search engines ignore what follows a #.", "https://developers.google.com/search/docs/crawling-indexing/url-structure"),
    ("sitemap.loc_credentials", _E, "A URL holds no user name and no password.", "https://www.rfc-editor.org/rfc/rfc9110#section-4.2.4"),
    ("location.outside", _E, "A sitemap lists only what is in its own directory or below, on its own scheme, host and port.", _PROTOCOL + "#location"),
    ("location.other_host", _E, "URLs of another host are listed only when its robots.txt names this sitemap.", _PROTOCOL + "#sitemaps_cross_submits"),
    ("duplicate.loc", _W, "A URL is listed once in a file.", _PROTOCOL + "#locdef"),
    ("duplicate.across_files", _W, "A URL is listed in one file of a set.", _PROTOCOL + "#locdef"),
    # Indexes.
    ("index.nested", _E, "A sitemap index lists sitemaps, never another index.", _PROTOCOL + "#index"),
    ("index.cycle", _E, "A sitemap index does not lead back to itself.", _PROTOCOL + "#index"),
    ("index.too_deep", _E, "Indexes are not nested any deeper: what lies below was not read.", _PROTOCOL + "#index"),
    ("index.too_many", _E, "An index lists at most 50,000 sitemaps.", _PROTOCOL + "#index"),
    ("index.outside", _E, "An index lists sitemaps in its own directory or below.", _GOOGLE + "large-sitemaps"),
    ("index.duplicate", _W, "A sitemap is listed once in an index.", _PROTOCOL + "#index"),
    ("index.child_unreadable", _E, "Every sitemap of an index can be read.", _PROTOCOL + "#index"),
    ("index.no_lastmod", _N, "An index tells the lastmod of its sitemaps, so that only changed ones are fetched.", _GOOGLE + "large-sitemaps"),
    # Dates.
    ("lastmod.invalid", _E, "lastmod is a W3C datetime of a day that exists.", _PROTOCOL + "#lastmoddef"),
    ("lastmod.form", _E, "lastmod has a form that the schema allows: YYYY-MM-DD, or with time, seconds and zone.", _XSD),
    ("lastmod.future", _W, "lastmod is not in the future: search engines reject such dates.", _LASTMOD),
    ("lastmod.too_old", _W, "lastmod is not older than the web: 1970 and its like are clocks that were never set.", _LASTMOD),
    ("lastmod.all_equal", _W, "Pages change at different times: one date for all of them is the time of a build.", _LASTMOD),
    ("lastmod.build_stamp", _W, "Many pages with one time to the second are the work of a build or an import, not of editors.", _LASTMOD),
    ("lastmod.churn", _W, "Hardly any site changes nearly all of its pages within a day: dates that say so are not believed.", _LASTMOD),
    ("changefreq.invalid", _E, "changefreq is always, hourly, daily, weekly, monthly, yearly or never.", _PROTOCOL + "#changefreqdef"),
    ("priority.invalid", _E, "priority is a number from 0.0 to 1.0.", _PROTOCOL + "#prioritydef"),
    ("hint.ignored", _N, "changefreq and priority are read by no large search engine; they only make the file larger.", _GOOGLE + "build-sitemap"),
    # Extensions.
    ("retired.tag", _W, "Tags that Google retired in 2022, or no longer documents, have no effect.", _RETIRED),
    ("retired.value", _W, "A retired tag that is there all the same has a value that its schema allows.", _RETIRED),
    ("image.loc_missing", _E, "Every image has a loc that is an absolute URL.", _GOOGLE + "image-sitemaps"),
    ("image.too_many", _E, "A page lists at most 1,000 images.", _GOOGLE + "image-sitemaps"),
    ("video.missing_tag", _E, "A video has thumbnail_loc, title, description, and content_loc or player_loc.", _GOOGLE + "video-sitemaps"),
    ("video.url", _E, "The URLs of a video are absolute ones.", _GOOGLE + "video-sitemaps"),
    ("video.is_page", _E, "Neither content_loc nor player_loc is the page itself.", _GOOGLE + "video-sitemaps"),
    ("video.title_too_long", _W, "A video's title has at most 100 characters.", _GOOGLE + "video-sitemaps"),
    ("video.description_too_long", _E, "A video's description has at most 2,048 characters.", _GOOGLE + "video-sitemaps"),
    ("video.duration", _E, "A video's duration is 1 to 28,800 whole seconds.", _GOOGLE + "video-sitemaps"),
    ("video.rating", _E, "A video's rating is a number from 0.0 to 5.0.", _GOOGLE + "video-sitemaps"),
    ("video.view_count", _E, "A video's view_count is a whole number.", _GOOGLE + "video-sitemaps"),
    ("video.date", _E, "A video's dates are W3C datetimes.", _GOOGLE + "video-sitemaps"),
    ("video.expired", _W, "A video's expiration_date has not passed: an expired video is dropped from search.", _GOOGLE + "video-sitemaps"),
    ("video.yes_no", _E, "family_friendly, requires_subscription and live are yes or no.", _GOOGLE + "video-sitemaps"),
    ("video.restriction", _E, "restriction has a relationship of allow or deny, and ISO 3166 country codes.", _GOOGLE + "video-sitemaps"),
    ("video.platform", _E, "platform has a relationship of allow or deny, and a list of web, mobile and tv.", _GOOGLE + "video-sitemaps"),
    ("video.uploader", _E, "uploader has at most 255 characters, and its info is a URL on the page's domain.", _GOOGLE + "video-sitemaps"),
    ("video.too_many_tags", _E, "A video has at most 32 tags.", _GOOGLE + "video-sitemaps"),
    ("news.missing_tag", _E, "News has a publication with name and language, a publication_date and a title.", _GOOGLE + "news-sitemap"),
    ("news.date", _E, "publication_date is a W3C datetime.", _GOOGLE + "news-sitemap"),
    ("news.language", _E, "The language of a publication is an ISO 639 code of two or three letters, zh-cn or zh-tw.", _GOOGLE + "news-sitemap"),
    ("news.too_old", _W, "A news sitemap lists the articles of the last two days.", _GOOGLE + "news-sitemap"),
    ("news.future", _W, "publication_date is not in the future.", _GOOGLE + "news-sitemap"),
    ("news.too_many", _E, "A news sitemap lists at most 1,000 articles.", _GOOGLE + "news-sitemap"),
    ("hreflang.code", _E, "hreflang is an ISO 639-1 language with an optional ISO 15924 script and ISO 3166-1 region, or x-default.", _HREFLANG + "#language-codes"),
    ("hreflang.url", _E, "The href of a variant is an absolute URL.", _HREFLANG + "#sitemap"),
    ("hreflang.no_self", _E, "The variants of a page include the page itself.", _HREFLANG + "#guidelines"),
    ("hreflang.not_mutual", _E, "Variants name each other; a link that is not returned is ignored.", _HREFLANG + "#guidelines"),
    ("hreflang.unlisted", _W, "Every variant has an entry of its own.", _HREFLANG + "#sitemap"),
    ("hreflang.conflict", _E, "A language leads to one URL.", _HREFLANG + "#guidelines"),
    ("hreflang.no_default", _N, "A page with variants names an x-default for readers of other languages.", _HREFLANG + "#xdefault"),
    ("feed.no_date", _N, "A feed's item has a date: without it nobody knows what is new.", _PROTOCOL + "#otherformats"),
)  # fmt: skip

RULES: Final[dict[str, Rule]] = {row[0]: Rule(*row) for row in _TABLE}
