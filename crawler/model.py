"""The values that travel through a crawl, each named for the stage it leaves. Holds no rules and does no I/O.

``Link ─admit→ Find ─frontier→ Lease ─fetch→ Reply | Failure ─parse→ Page ─judge→ Verdict ─settle→ Outcome … Record``
"""

from enum import IntEnum, StrEnum
from typing import Final, NewType

from msgspec import Struct

from sitemap import Alternate, Video

Url = NewType("Url", str)
"""A URL in canonical form. Only :func:`crawler.url.normalise` and :func:`crawler.url.join` mint it."""


class DiscoveredBy:
    """How a URL became known: flags of an ``int``, for an ``IntFlag`` takes a microsecond. Those of a URL only grow."""

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
    NOFOLLOW: Final = 2048  # a link that asks not to be followed; known, and never fetched for this alone
    PREVIOUS_RUN: Final = (
        4096  # published by an earlier run; asked for once more when nothing leads there now
    )
    AUDIT_SOURCE: Final = 8192  # named by a log, an export or a list that an audit was given
    SPELLING: Final = 16384  # the same, and it looks like another page's URL: what it links to is no news


CLICK_WAYS: Final = (
    DiscoveredBy.LINK
    | DiscoveredBy.FRAME
    | DiscoveredBy.PAGINATION
    | DiscoveredBy.SITEMAP
    | DiscoveredBy.FEED
    | DiscoveredBy.NOFOLLOW
)
"""Evidence that is a step away from the page it stands on; all other kinds name the same thing in another place."""


class DocumentKind(IntEnum):
    """What a URL in the frontier is expected to be, which decides how its body is read."""

    PAGE = 0
    SITEMAP = 1


class State(StrEnum):
    """Where a URL stands. Every URL ends in exactly one of these, and ``PENDING`` is the only one that is no end."""

    PENDING = "pending"
    INDEXABLE = "indexable"
    REDIRECT = "redirect"
    CANONICAL_ELSEWHERE = "canonical elsewhere"
    NOINDEX = "noindex"
    CLIENT_ERROR = "client error"
    SERVER_ERROR = "server error"
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
    UNLINKED = "no longer linked"
    SITEMAP_FILE = "sitemap file"
    INTERNAL_ERROR = "internal error"


class DiscoveredUrl(Struct, frozen=True):
    """A URL worth knowing, not yet admitted."""

    url: Url
    found: int  # flags of Found
    depth: int
    source: int | None = None  # the frontier's id of the URL it was found on
    kind: DocumentKind = DocumentKind.PAGE


class Lease(Struct, frozen=True):
    """A URL handed out to one holder, to be settled once."""

    id: int
    url: Url
    depth: int
    attempts: int  # answers already had, transient failures all
    kind: DocumentKind = DocumentKind.PAGE
    found: int = 0  # flags of Found, as known when it was handed out


class Wait(Struct, frozen=True):
    """Nothing is due yet: ask again after so many seconds, or when something was settled."""

    seconds: float


class Done(Struct, frozen=True):
    """Nothing waits and nothing is out."""


class Reply(Struct, frozen=True):
    """An answer, with its body decoded from its content codings.

    ``headers`` are pairs of lower-case name and value in the order received. ``fetched_at`` is the Unix time at which
    the request was sent, ``elapsed`` the seconds to the last byte. ``cut`` says why the body is but a prefix, or is "".
    """

    url: Url
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    fetched_at: float
    elapsed: float
    wire_bytes: int = 0
    cut: str = ""

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
    """No usable answer. ``code`` is stable (``net.refused``), ``message`` a sentence; ``transient``: worth a retry."""

    code: str
    message: str
    transient: bool
    elapsed: float = 0.0


class Request(Struct, frozen=True):
    """One request of a URL and its answer, as the trail of a visit keeps it.

    ``at`` is Unix time, ``answer`` a status or the code of a failure, ``wire`` bytes received, ``elapsed`` seconds.
    """

    at: float
    answer: str
    conditional: bool
    wire: int
    elapsed: float

    def line(self) -> str:
        """One line of text, with its end."""
        asked = "if-changed" if self.conditional else "get"
        return f"{self.at:.3f} {asked} {self.answer} {self.wire} {self.elapsed:.3f}\n"

    @classmethod
    def read(cls, trail: str) -> list["Request"]:
        """The requests of a trail, the first one first."""
        rows = (line.split(" ") for line in trail.splitlines())
        return [
            cls(float(at), answer, asked == "if-changed", int(wire), float(elapsed))
            for at, asked, answer, wire, elapsed in rows
        ]


class FetchedDocument(Struct, frozen=True, array_like=True):
    """What a parser needs of a reply: the URL it answered for, the headers that speak about content, and the body.

    ``known`` is the digest of what was read of it before, and ``before`` what was kept of that; both may be empty.
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


class Page(Struct, frozen=True, array_like=True, omit_defaults=True):
    """What a document says, with every URL resolved and in canonical form. Nothing here is judged yet."""

    is_html: bool = True  # False: the body is no HTML whatever its label says, and the rest is empty
    links: list[tuple[Url, int]] = []  # distinct targets with their Found flags, in document order
    canonicals: list[Url] = []  # the distinct targets stated in <head> and in Link headers
    canonical_faults: list[str] = []  # statements that count as none, each a sentence
    noindex: str = ""  # the evidence in the page's own words, or ""
    nofollow: bool = False  # the whole page asks that its links are not followed
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
    faults: list[str] = []  # what went wrong in reading: "links cut at 20,000"
    fallback: str = ""  # why the linear scanner had to read it ("parse.timeout", "parse.crash"), or ""
    digest: bytes = b""  # of everything that was read
    is_known: bool = False  # the digest is the one that was known: all else is empty
    text: bytes = b""  # what a later comparison needs (crawler.parse.snapshot)
    delta: bytes = b""  # what differs from what was known (crawler.parse.snapshot), or nothing
    expires: float | None = None  # Unix time from which on it asks not to be indexed ...
    expires_evidence: str = ""  # ... in its own words
    breadcrumb: list[Url] = []  # the pages above it, as it names them, the start first


class StatusBadge(Struct, frozen=True):
    """How a URL ended and why, in a sentence a person can read."""

    state: State
    reason: str = ""
    target: Url | None = None  # where a redirect or a canonical leads


class ResponseMetadata(Struct, frozen=True):
    """What a good answer said about itself. ``at`` is Unix time; the others are as they came, or ""."""

    at: float
    content_type: str = ""
    etag: str = ""
    last_modified: str = ""
    header_date: str = ""  # Last-Modified as a W3C datetime, if it can be believed
    page_date: str = ""  # the best date in the page, W3C
    page_date_source: str = ""


class Outcome(Struct, frozen=True):
    """Everything that one lease brought, to be settled in one transaction.

    ``links`` are the page's own, as in :class:`Page`: their depth follows from the lease's. ``finds`` are all others.
    ``page`` is what was read now; when it is what was remembered, ``content`` is the id of that instead.
    """

    lease: Lease
    verdict: StatusBadge
    status: int | None = None
    links: list[tuple[Url, int]] = []
    finds: tuple[DiscoveredUrl, ...] = ()
    page: Page | None = None
    content: int | None = None
    sighting: ResponseMetadata | None = None
    request: Request | None = None


class Retry(Struct, frozen=True):
    """A lease to be given out again, not before ``due`` (Unix time, seconds)."""

    lease: Lease
    due: float
    reason: str
    request: Request | None = None


class PreviousVisit(Struct, frozen=True):
    """What an earlier run read of a URL, with the links restored. ``sighting`` is that of the last good answer."""

    content: int  # its id in the state
    sighting: ResponseMetadata
    digest: bytes
    text: bytes
    page: Page | None  # None: it is no page
    is_due: bool  # the whole body is to be read again, whatever the validators say
    validates: bool  # the validators are those of the server that is asked now
    links: list[tuple[Url, int]] = []  # what it led to, however it was read, as far as that is known still


class UrlRecord(Struct, frozen=True):
    """What the frontier knows of one URL at the end."""

    url: Url
    state: State
    reason: str
    found: int  # flags of Found
    depth: int
    status: int | None


class ListedPage(Struct, frozen=True):
    """A page of the set that is to be published, with what is told of it."""

    id: int
    url: Url
    lastmod: str
    images: list[str]
    videos: list[Video]
    alternates: list[Alternate]
    reason: str = ""  # what there is to say although it is listed
    shard: int | None = None  # which file of its group it is in, when that is known
    group: str = ""
