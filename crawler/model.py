"""The values of a crawl, each named for the stage it leaves. Pure: no rules, no I/O.

``DiscoveredUrl ─frontier→ Lease ─fetch→ Reply | Failure ─parse→ Page ─judge→ Verdict ─settle→ Outcome … UrlRecord``
"""

from enum import IntEnum, StrEnum
from typing import Final, NewType, Self

import msgspec
from msgspec import Struct
from msgspec.structs import force_setattr

from sitemap import Alternate, Video, shorten

Url = NewType("Url", str)
"""A URL in canonical form, made by :func:`crawler.url.normalize.normalize_url` and ``join_url``."""


class DiscoveredBy:
    """How a URL was discovered: flags of an ``int``, since ``IntFlag`` is slow. A URL only gains flags."""

    SEED: Final = 1
    LINK: Final = 2  # a, area
    FRAME: Final = 4  # iframe, frame
    REDIRECT: Final = 8  # a 3xx answer
    REFRESH: Final = 16  # meta refresh or the Refresh header
    CANONICAL: Final = 32  # link rel=canonical, in HTML or in a Link header
    ALTERNATE: Final = 64  # link rel=alternate (hreflang, feeds, media), in HTML or in a Link header
    PAGINATION: Final = 128  # link rel=next|prev
    AMP: Final = 256  # link rel=amphtml
    SITEMAP: Final = 512  # an entry of the site's own sitemap, or a sitemap named by robots.txt or an index
    FEED: Final = 1024  # an entry of a feed
    NOFOLLOW: Final = 2048  # a link with nofollow: never fetched for this alone
    PREVIOUS_RUN: Final = 4096  # published by an earlier run; fetched once more when nothing links to it now
    AUDIT_SOURCE: Final = 8192  # named by a log, an export or a list of an audit
    SPELLING: Final = 16384  # the same, and it looks like the URL of another page: its links do not count
    SCRIPT: Final = 32768  # with LINK: only the page as a browser shows it has the link


DISCOVERY_NAMES: Final = {
    DiscoveredBy.SEED: "start URL",
    DiscoveredBy.LINK: "link",
    DiscoveredBy.FRAME: "frame",
    DiscoveredBy.REDIRECT: "redirect",
    DiscoveredBy.REFRESH: "refresh",
    DiscoveredBy.CANONICAL: "canonical",
    DiscoveredBy.ALTERNATE: "alternate",
    DiscoveredBy.PAGINATION: "pagination",
    DiscoveredBy.AMP: "amp",
    DiscoveredBy.SITEMAP: "sitemap",
    DiscoveredBy.FEED: "feed",
    DiscoveredBy.NOFOLLOW: "nofollow link",
    DiscoveredBy.PREVIOUS_RUN: "earlier sitemap",
    DiscoveredBy.AUDIT_SOURCE: "audit source",
}
"""The names of the ways in which a URL is found, and of the kinds of links."""


CLICK_WAYS: Final = (
    DiscoveredBy.LINK
    | DiscoveredBy.FRAME
    | DiscoveredBy.PAGINATION
    | DiscoveredBy.SITEMAP
    | DiscoveredBy.FEED
    | DiscoveredBy.NOFOLLOW
)
"""Evidence that is one click away from the page it is on; all other kinds name the same resource at another URL."""


class DocumentKind(IntEnum):
    """What a URL in the frontier is expected to be, which decides how its body is parsed."""

    PAGE = 0
    SITEMAP = 1
    ROBOTS = 2  # never in the frontier


class State(StrEnum):
    """The state of a URL. Every URL ends in exactly one of these other than ``PENDING``."""

    PENDING = "pending"
    INDEXABLE = "indexable"
    REDIRECT = "redirect"
    CANONICAL_ELSEWHERE = "canonical elsewhere"
    NOINDEX = "noindex"
    CLIENT_ERROR = "client error"
    SERVER_ERROR = "server error"
    SOFT_404 = "soft 404"
    CHALLENGED = "challenged"
    UNREACHABLE = "unreachable"
    BAD_ANSWER = "bad answer"
    WRONG_TYPE = "wrong type"
    PARSE_FAILED = "parse failed"
    ROBOTS = "blocked by robots.txt"
    NOFOLLOW = "linked by nofollow only"
    OUT_OF_SCOPE = "out of scope"
    EXCLUDED = "excluded"
    TOO_DEEP = "too deep"
    TOO_LONG = "too long"
    TRAP = "trap"
    ACTION = "action"
    UNLINKED = "no longer linked"
    SITEMAP_FILE = "sitemap file"
    INTERNAL_ERROR = "internal error"


class DiscoveredUrl(Struct, frozen=True):
    """A discovered URL, not yet admitted."""

    url: Url
    found: int  # flags of DiscoveredBy
    depth: int
    source: int | None = None  # the frontier's id of the URL it was found on
    kind: DocumentKind = DocumentKind.PAGE
    date: str = ""  # lastmod in the site's sitemap, as it stands there


class Lease(Struct, frozen=True):
    """A URL that one worker holds, to be settled once."""

    id: int
    url: Url
    depth: int
    attempts: int  # answers so far, all of them transient failures
    kind: DocumentKind = DocumentKind.PAGE
    found: int = 0  # flags of DiscoveredBy at the time of the lease
    source: int | None = None  # id of the URL that it was discovered on


class Wait(Struct, frozen=True):
    """Nothing is due yet: call again after so many seconds, or when a lease is settled."""

    seconds: float


class Done(Struct, frozen=True):
    """No URL is pending and no lease is out."""


class Reply(Struct, frozen=True):
    """A response, with its content codings decoded.

    ``headers`` are pairs of lower-case name and value in the order received. ``fetched_at`` is the Unix time at which
    the request was sent, ``elapsed`` the seconds to the last byte. ``cut`` says why the body is a prefix, or is "".
    ``is_miscoded``: Content-Encoding names a compression, but the server sent the body without it.
    """

    url: Url
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    fetched_at: float
    elapsed: float
    wire_bytes: int = 0
    cut: str = ""
    is_miscoded: bool = False

    def header(self, name: str) -> str | None:
        """The first value of a header by its lower-case name."""
        for key, value in self.headers:
            if key == name:
                return value
        return None

    def header_all(self, name: str) -> list[str]:
        """All values of a header by its lower-case name, in order."""
        return [value for key, value in self.headers if key == name]


class Failure(Struct, frozen=True):
    """No usable response. ``code`` is stable (``net.refused``), ``message`` a sentence; ``transient``: may pass."""

    code: str
    message: str
    transient: bool
    elapsed: float = 0.0

    def __post_init__(self) -> None:
        force_setattr(self, "message", shorten(self.message))


class Request(Struct, frozen=True):
    """One request of a URL and its answer, as in the trail of a visit.

    ``at`` is Unix time, ``answer`` a status or the code of a failure, ``wire`` bytes received, ``elapsed`` seconds.
    """

    at: float
    answer: str
    conditional: bool
    wire: int
    elapsed: float

    def line(self) -> str:
        """One line of a trail, with its line end."""
        kind = "if-changed" if self.conditional else "get"
        return f"{self.at:.3f} {kind} {self.answer} {self.wire} {self.elapsed:.3f}\n"

    @classmethod
    def read(cls, trail: str) -> list["Request"]:
        """The requests of a trail, the oldest first."""
        rows = (line.split(" ") for line in trail.splitlines())
        return [
            cls(float(at), answer, kind == "if-changed", int(wire), float(elapsed))
            for at, kind, answer, wire, elapsed in rows
        ]


class FetchedDocument(Struct, frozen=True, array_like=True):
    """Input of the parser: the URL of a reply, the headers about its content, and its body.

    ``known`` is the digest of the page at the previous visit, ``before`` its text for comparison; both may be empty.
    ``is_framed``: HTTP told where the body ends.
    """

    url: Url
    content_type: str
    links: list[str]  # values of Link headers
    robots: list[str]  # values of X-Robots-Tag headers
    refresh: str  # value of the Refresh header, or ""
    body: bytes
    kind: DocumentKind = DocumentKind.PAGE
    known: bytes = b""
    before: bytes = b""
    is_framed: bool = True

    @classmethod
    def of_reply(
        cls, reply: Reply, kind: DocumentKind = DocumentKind.PAGE, known: bytes = b"", before: bytes = b""
    ) -> Self:
        """The document in a reply."""
        return cls(
            reply.url,
            reply.header("content-type") or "",
            reply.header_all("link"),
            reply.header_all("x-robots-tag"),
            reply.header("refresh") or "",
            reply.body,
            kind,
            known,
            before,
            bool(reply.header("content-length") or reply.header("transfer-encoding")),
        )


SEEN_TO_CHANGE: Final = "seen to change"
"""The source of a lastmod without other evidence: the run that saw the change."""
EMPTY_BODY: Final = "the body is empty"
"""The fault of a :class:`Page` without a body."""


class Page(Struct, frozen=True, array_like=True, omit_defaults=True):
    """A parsed document, with every URL resolved and in canonical form. Nothing here is judged yet."""

    is_html: bool = True  # False: the body is no HTML, whatever its Content-Type, and the rest is empty
    links: list[tuple[Url, int]] = []  # distinct targets with flags of DiscoveredBy, in document order
    canonicals: list[Url] = []  # the distinct targets stated in <head> and in Link headers
    canonical_faults: list[str] = []  # statements that do not count or may be missed, each a sentence
    noindex: str = ""  # the evidence in the page's own words, or ""
    nofollow: bool = False  # none of its links may be followed
    refresh: Url | None = None  # a refresh within the limit that counts as a redirect
    alternates: list[Alternate] = []  # hreflang alternates, as stated
    images: list[str] = []
    videos: list[Video] = []
    video_faults: list[str] = []  # videos that cannot be listed, each with the reason
    modified: str = ""  # the best in-page date, W3C datetime
    modified_source: str = ""  # "JSON-LD dateModified", "article:modified_time" …
    title: str = ""
    language: str = ""
    sitemaps: list[Url] = []  # children, when the document is a sitemap index
    faults: list[str] = []  # what the parser could not read: "links cut at 20,000"
    fallback: str = ""  # why it was read without most of its elements ("parse.timeout", "parse.crash"), or ""
    digest: bytes = b""  # of everything that was parsed
    is_known: bool = False  # the digest is that of the previous visit: the rest is empty
    text: bytes = b""  # for later comparison (crawler.parse.snapshot)
    delta: bytes = b""  # difference from the previous visit (crawler.parse.snapshot), or nothing
    expires: float | None = None  # Unix time from which it must not be indexed ...
    expires_evidence: str = ""  # ... in its own words
    breadcrumb: list[Url] = []  # the pages above it, as it names them, the start first
    cut: str = ""  # why it is only a part of the page of the previous visit, or ""
    by_header: bool = False  # a header makes it redirect, or names another URL as its canonical
    engine_noindex: str = ""  # the evidence of a noindex for search engines that it names, without one for all robots
    scripts: list[str] = []  # that the raw page loads, as written, and for a renderer the tags of its empty places
    rendered: bool = False  # the page as its scripts left it, with what counts of the raw page
    notes: list[str] = []  # what an audit reports of it, each as "rule: sentence"
    robots: bytes = b""  # the encoded rules, when the document is a robots.txt
    dates: dict[Url, str] = {}  # lastmod of the entries of a sitemap, if they are wanted
    parts: bytes = b""  # the parts that links may name ...
    named_parts: bytes = b""  # ... and those that its links name (crawler.parse.html.parts)
    bad_data: int = 0  # blocks of JSON-LD that cannot be parsed ...
    data_fault: str = ""  # ... and where the first of them has its first fault


unpack_page = msgspec.msgpack.Decoder(Page).decode
"""The page in the column ``page`` of the table content."""


class Verdict(Struct, frozen=True):
    """The verdict on a URL: its state, and the reason in a sentence."""

    state: State
    reason: str = ""
    target: Url | None = None  # where a redirect or a canonical leads

    def __post_init__(self) -> None:
        force_setattr(self, "reason", shorten(self.reason))


class ResponseMetadata(Struct, frozen=True):
    """Metadata of a good reply. ``at`` is Unix time; the others are as received, or ""."""

    at: float
    content_type: str = ""
    etag: str = ""
    last_modified: str = ""
    header_date: str = ""  # Last-Modified as a W3C datetime, if it can be believed
    page_date: str = ""  # the best date in the page, W3C
    page_date_source: str = ""


class Outcome(Struct, frozen=True):
    """The result of one lease, to be settled in one transaction.

    ``links`` are those of the page, as in :class:`Page`: their depth follows from the lease. ``finds`` are all other
    discovered URLs. ``page`` is the content to store; for unchanged content, ``content`` is the id of the stored one.
    """

    lease: Lease
    verdict: Verdict
    status: int | None = None
    links: list[tuple[Url, int]] = []
    finds: tuple[DiscoveredUrl, ...] = ()
    page: Page | None = None
    content: int | None = None
    sighting: ResponseMetadata | None = None
    request: Request | None = None


class Retry(Struct, frozen=True):
    """A URL to lease again, not before ``due`` (Unix time)."""

    lease: Lease
    due: float
    reason: str
    request: Request | None = None


class PreviousVisit(Struct, frozen=True):
    """What the state keeps of the last good answer of a URL in earlier runs."""

    content: int  # id in the state
    sighting: ResponseMetadata
    digest: bytes
    text: bytes
    page: Page | None  # None: it is not a page
    is_due: bool  # the body must be fetched in full, whatever the validators say
    validates: bool  # the validators are those of the present server
    links: list[tuple[Url, int]] = []  # as far as their URLs are still known
    failures: int = 0  # runs in a row since then in which the URL failed
    rendered: bool = False  # the text is that of a rendered page


class UrlRecord(Struct, frozen=True):
    """What the frontier knows of one settled URL."""

    url: Url
    state: State
    reason: str
    found: int  # flags of DiscoveredBy
    depth: int
    status: int | None


class ListedPage(Struct, frozen=True):
    """A page of the sitemap to publish, with the data of its entry."""

    id: int
    url: Url
    lastmod: str
    images: list[str]
    videos: list[Video]
    alternates: list[Alternate]
    reason: str = ""  # a note on a listed page
    shard: int | None = None  # number of its file in the group, None until placed
    group: str = ""
