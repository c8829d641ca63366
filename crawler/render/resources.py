"""What a page may request while it is rendered, and the road of these requests: robots.txt, pace, limits, guard.

The browser has no network. Scripts, styles and data come through the fetcher of the crawl, once in a run for all pages.
Images, media and fonts are answered by stubs, because nothing is read from them.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

import anyio
from msgspec import Struct

from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import BodyLimits
from crawler.fetch.redirect import REDIRECTS, redirect_target
from crawler.fetch.retry import is_transient
from crawler.fetch.throttle import Throttle
from crawler.model import Failure, Reply, Url
from crawler.render.templates import unhashed
from crawler.robots.cache import RobotsCache
from crawler.robots.rules import Blocked
from crawler.units import count_text
from crawler.url.normalize import DEFAULT_PARAMS, InvalidUrl, normalize_url, origin_of
from crawler.url.scope import UrlPattern

MAIN_DOCUMENT: Final = "main document"
MAX_REDIRECTS: Final = 5
_READ_KINDS: Final = frozenset({"script", "stylesheet", "xhr", "fetch", "document"})
_STUBS: Final = {
    "image": (
        "image/gif",
        bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b"),
    ),
    "media": ("video/mp4", b""),
    "font": ("font/woff2", b""),
}
_SHARED_KINDS: Final = frozenset({"script", "stylesheet", "xhr", "fetch"})
# Headers of a response that describe its transfer, which has ended, or that would keep state in the browser.
_DROPPED: Final = frozenset(
    {"connection", "content-encoding", "content-length", "keep-alive", "set-cookie", "strict-transport-security"}
    | {"trailer", "transfer-encoding", "upgrade", "report-to", "nel", "alt-svc", "refresh", "link"}
)
# Headers of a request that say who asks and how: ours are those of the crawl. Origin is not among them, because many
# servers answer another site only with it (https://fetch.spec.whatwg.org/#origin-header).
_OWN_HEADERS: Final = frozenset(
    {"accept-encoding", "accept-language", "connection", "content-length", "cookie", "host", "user-agent"}
    | {"referer", "if-none-match", "if-modified-since", "range", "upgrade-insecure-requests", "accept"}
)
# Headers that say that a request is for another page, which the visitor may want next. The router of Next.js sends such
# requests for all links of a page.
_PREFETCH_HEADERS: Final = frozenset({"next-router-prefetch", "purpose", "sec-purpose"})
_PREFETCH_VALUES: Final = ("prefetch", "1", "2")
# Hosts of well-known analytics and advertising, whose scripts draw nothing of a page.
TRACKERS: Final = (
    *("google-analytics.com", "googletagmanager.com", "doubleclick.net", "googlesyndication.com", "hotjar.com"),
    *("connect.facebook.net", "clarity.ms", "segment.com", "segment.io", "mixpanel.com", "amplitude.com"),
    *("fullstory.com", "newrelic.com", "nr-data.net", "sentry.io", "plausible.io", "matomo.cloud", "bat.bing.com"),
    *("analytics.tiktok.com", "snap.licdn.com", "px.ads.linkedin.com", "static.ads-twitter.com", "criteo.com"),
)


class ResourceRequest(Struct, frozen=True):
    """A request of a page in the browser. ``kind`` is the browser's name of what it is for: script, xhr, image …

    ``content`` is the body of a POST.
    """

    url: str
    method: str
    kind: str
    headers: tuple[tuple[str, str], ...] = ()
    content: bytes = b""


class ResourceAnswer(Struct, frozen=True):
    """The answer that the browser is given."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


NO_CONTENT: Final = ResourceAnswer(204, (), b"")


class ResourceOptions(Struct, frozen=True):
    """``trackers`` are hosts that get no request; ``cache`` bytes of shared resources are kept.

    A page may POST to the URLs that match ``posts``, for example to read from a GraphQL server. One page may send
    ``max_requests`` for scripts, styles and data.
    """

    posts: tuple[UrlPattern, ...] = ()
    trackers: tuple[str, ...] = TRACKERS
    max_requests: int = 300
    body: BodyLimits = BodyLimits(wire=10_000_000, decoded=20_000_000)
    cache: int = 16_000_000


Fetch = Callable[[], Awaitable[ResourceAnswer | None]]


class ResourceRoad:
    """The road that the requests of all pages of a run take. Shared scripts, styles and data are fetched once.

    Counts requests (``fetched``) and the bytes received (``bytes``).
    """

    def __init__(self, fetcher: Fetcher, robots: RobotsCache, throttle: Throttle, options: ResourceOptions) -> None:
        self.options = options
        self.fetched = 0
        self.bytes = 0
        self._fetcher = fetcher
        self._robots = robots
        self._throttle = throttle
        self._kept: OrderedDict[str, ResourceAnswer] = OrderedDict()
        self._kept_bytes = 0
        self._fetching: dict[str, anyio.Event] = {}

    def kept(self, key: str) -> ResourceAnswer | None:
        """The answer to an equal request of this run."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, key: str, answer: ResourceAnswer) -> None:
        """Keep an answer for other pages; the ones that were not used for longest go first."""
        self._kept[key] = answer
        self._kept_bytes += len(answer.body)
        while self._kept_bytes > self.options.cache and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self._kept_bytes -= len(dropped.body)

    async def why_blocked(self, url: Url) -> str:
        """Why robots.txt does not allow a resource, or ""."""
        rule = (await self._robots.get(origin_of(url))).can_fetch(url)
        return rule.reason if isinstance(rule, Blocked) else ""

    async def fetch(
        self, url: Url, headers: Iterable[tuple[str, str]], page: "PageResources", content: bytes | None = None
    ) -> Reply | Failure:
        """Fetch a resource at the pace of the crawl: by POST if there is a ``content``, else by GET."""
        throttle, origin = self._throttle, origin_of(url)
        with page.waiting():
            while (pause := throttle.seconds_until_ready(origin, throttle.clock())) > 0:  # noqa: ASYNC110 - a clock, no event
                await anyio.sleep(min(pause, 1.0))
        throttle.start(url, throttle.clock())
        answer: Reply | Failure | None = None
        try:
            method = "GET" if content is None else "POST"
            body = self.options.body
            answer = await self._fetcher.fetch(url, headers=headers, body=body, method=method, content=content or b"")
        finally:
            throttle.finish(url, throttle.clock(), answer)
        self.fetched += 1
        if isinstance(answer, Reply):
            self.bytes += answer.wire_bytes
        return answer

    async def once(self, key: str, page: "PageResources", fetch: Fetch) -> ResourceAnswer | None:
        """The kept answer, or that of ``fetch``; pages that ask for the same at once wait for one request."""
        while key in self._fetching:
            with page.waiting():
                await self._fetching[key].wait()
        if kept := self.kept(key):
            return kept
        self._fetching[key] = anyio.Event()
        try:
            return await fetch()
        finally:
            self._fetching.pop(key).set()


class PageResources:
    """The requests of one page: only so many, so that a page that asks without end comes to its end.

    ``cut`` says that it asked for more, or is "". ``blocked`` are the resources that robots.txt forbids, with the
    reason; ``failed`` those that could not be fetched for a transient reason; ``scripts`` the digests of the scripts by
    URL.
    """

    def __init__(self, road: ResourceRoad) -> None:
        self._road = road
        self._requests = 0
        self._host = ""  # of the page
        self.cut = ""
        self._waiting = 0  # requests that wait for their turn now
        self._waiting_since = self._waited = 0.0
        self.blocked: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        self.scripts: dict[str, str] = {}

    @property
    def waited(self) -> float:
        """The seconds in which any of them waited for its turn."""
        return self._waited + (anyio.current_time() - self._waiting_since if self._waiting else 0.0)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the time of a block as waiting."""
        if not self._waiting:
            self._waiting_since = anyio.current_time()
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._waited += anyio.current_time() - self._waiting_since

    def document(self, reply: Reply) -> ResourceAnswer:
        """The page itself, from the answer that the crawl has already."""
        self._host = urlsplit(reply.url).hostname or ""
        return _answer_of(reply)

    async def answer(self, request: ResourceRequest) -> ResourceAnswer | None:
        """The answer to one request, None when the page does not get any."""
        if stub := _STUBS.get(request.kind):
            return ResourceAnswer(200, (("content-type", stub[0]), ("access-control-allow-origin", "*")), stub[1])
        if not self._is_allowed(request):
            return None
        limit = self._road.options.max_requests
        if self._requests == limit:
            self.cut = f"reading stopped after {count_text(limit, 'request')} for scripts, styles and data"
            return None
        self._requests += 1
        try:
            url = normalize_url(request.url, DEFAULT_PARAMS.keeping_all)
        except InvalidUrl:
            return None
        if blocked := await self._road.why_blocked(url):
            self.blocked[url] = blocked
            return None
        headers = [(name, value) for name, value in request.headers if _is_of_page(name)]
        content = request.content if request.method == "POST" else None
        posted = "" if content is None else hashlib.blake2b(content).hexdigest()
        key = "\n".join((request.method, url, posted, *(f"{name}:{value}" for name, value in headers)))
        if request.method == "HEAD" or request.kind not in _SHARED_KINDS:
            answer = await self._fetch(url, headers, content)
        else:
            answer = await self._road.once(key, self, lambda: self._fetch_and_keep(key, url, headers, content))
        if answer and request.kind == "script":
            self.scripts[unhashed(url)] = hashlib.blake2b(answer.body, digest_size=8).hexdigest()
        return answer

    def _is_allowed(self, request: ResourceRequest) -> bool:
        options = self._road.options
        if request.kind not in _READ_KINDS or not request.url.startswith(("http://", "https://")):
            return False
        if _is_prefetch(request) or (request.method not in {"GET", "HEAD"} and not self._may_post(request)):
            return False
        host = urlsplit(request.url).hostname or ""
        return not any(_is_of(host, name) and not _is_of(self._host, name) for name in options.trackers)

    def _may_post(self, request: ResourceRequest) -> bool:
        try:
            url = normalize_url(request.url, DEFAULT_PARAMS.keeping_all)
        except InvalidUrl:
            return False
        return request.method == "POST" and any(pattern.matches(url) for pattern in self._road.options.posts)

    async def _fetch_and_keep(
        self, key: str, url: Url, headers: list[tuple[str, str]], content: bytes | None
    ) -> ResourceAnswer | None:
        answer = await self._fetch(url, headers, content)
        if answer and answer.status == 200:
            self._road.keep(key, answer)
        return answer

    async def _fetch(self, url: Url, headers: list[tuple[str, str]], content: bytes | None) -> ResourceAnswer | None:
        """The answer along redirects, which a POST does not follow. Each target obeys the same rules."""
        for _ in range(MAX_REDIRECTS + 1):
            reply = await self._road.fetch(url, headers, self, content)
            if isinstance(reply, Failure):
                self.failed[url] = reply.message
                return None
            if reply.status not in REDIRECTS or content is not None:
                if is_transient(reply):
                    self.failed[url] = f"answered {reply.status}"
                return _answer_of(reply)
            target = redirect_target(reply, DEFAULT_PARAMS.keeping_all)
            if isinstance(target, InvalidUrl):
                return None
            if blocked := await self._road.why_blocked(target):
                self.blocked[target] = blocked
                return None
            url = target
        return None


def _is_prefetch(request: ResourceRequest) -> bool:
    return any(name in _PREFETCH_HEADERS and value.startswith(_PREFETCH_VALUES) for name, value in request.headers)


def _is_of(host: str, name: str) -> bool:
    """Whether a host is that of a name, or below it."""
    return host == name or host.endswith(f".{name}")


def _answer_of(reply: Reply) -> ResourceAnswer:
    return ResourceAnswer(reply.status, tuple(pair for pair in reply.headers if pair[0] not in _DROPPED), reply.body)


def _is_of_page(name: str) -> bool:
    """Whether a request header comes from the page's scripts, not from the browser itself."""
    return name not in _OWN_HEADERS and not name.startswith((":", "sec-", "proxy-"))
