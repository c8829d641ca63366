"""Downloads sitemaps by URL for synchronous readers: one at a time, throttled, with redirects noted."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from http import HTTPStatus
from types import TracebackType
from typing import Final, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal
from msgspec.structs import replace

from crawler.config.config import Config
from crawler.config.fetcher import build_fetcher
from crawler.config.source import SiteSource
from crawler.config.start import parse_url_setting
from crawler.fetch.errors import FailureCode
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import ROBOTS_BODY, BodyLimits
from crawler.fetch.paced_fetcher import AskedToWait, PacedFetcher, follow
from crawler.fetch.redirect import REDIRECTS, redirect_target
from crawler.fetch.throttle import ThrottleOptions
from crawler.model import Failure, FetchedDocument, Page, Reply, Url
from crawler.parse.html.page import ReadOptions
from crawler.parse.pool import ParsePool
from crawler.parse.protocol import ParserOptions
from crawler.robots.cache import RobotsCache
from crawler.robots.rules import Blocked, Robots, product_token
from crawler.url.normalize import InvalidUrl, normalize_url, origin_of
from crawler.url.params import UrlParams
from sitemap import SourceError

MAX_REDIRECTS: Final = 5
_KEEP_ALL_PARAMS: Final = UrlParams((), ())  # a sitemap's URL keeps all of its parameters
_NOT_FOUND_STATUSES: Final = frozenset({404, 410})


class DocumentNotFound(SourceError):
    """The server answers 404 or 410."""


class Downloader:
    """Fetches documents while entered. ``redirects`` holds pairs of the requested URL and the final one.

    ``unpacked`` holds the URLs of gzip files that the server sent with a Content-Encoding (Apache's AddEncoding), so
    that they arrived decompressed. ``private`` holds one reason for each host that was not fetched because it is at a
    private address.

    ``origins`` are those that the operator names. They may be at private addresses; the first gets the secrets of the
    configuration, and is read from the ``source`` if there is one. robots.txt is not obeyed, since a person named the
    URL, except by :meth:`check_robots`.
    """

    def __init__(
        self, config: Config, origins: Sequence[str], max_bytes: int, source: SiteSource | None = None
    ) -> None:
        self.redirects: list[tuple[str, str]] = []
        self.unpacked: set[str] = set()
        self.private: set[str] = set()
        self._config = config
        self._origins = origins
        self._source = source
        # One byte more than the reader takes, so that the reader reports a document that is too large.
        self._body = BodyLimits(wire=max_bytes + 1, decoded=max_bytes + 1, refuse=max(100 * 2**20, max_bytes))
        self._stack = ExitStack()
        self._portal: BlockingPortal
        self._fetcher: Fetcher
        self._paced: PacedFetcher
        self._robots_cache: RobotsCache
        self._pool: ParsePool

    def __enter__(self) -> Self:
        """Raises UsageError for options that cannot work."""
        self._fetcher = build_fetcher(self._config, self._origins, source=self._source)
        pace, retries = self._config.pace, self._config.fetch.retries
        self._paced = PacedFetcher(self._fetcher, ThrottleOptions(1, pace.rate, pace.delay), retries)
        self._portal = self._stack.enter_context(start_blocking_portal("asyncio"))
        self._stack.callback(lambda: self._portal.call(self._fetcher.aclose))
        parse, obey = self._config.parse, self._config.obey.robots
        read = ReadOptions(token=product_token(self._config.fetch.user_agent))
        options = ParserOptions(read, _KEEP_ALL_PARAMS, parse.timeout, parse.memory)
        self._pool = self._stack.enter_context(self._portal.wrap_async_context_manager(ParsePool(1, options)))
        self._robots_cache = RobotsCache(self._fetcher, self._pool.read_robots, obey=obey, params=_KEEP_ALL_PARAMS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def open(self, url: str) -> bytes:
        """The content of a URL, after redirects. Raises SourceError."""
        return self._portal.call(self._document, url, self._body).body

    def locate(self, url: str) -> tuple[str, bytes]:
        """The final URL of a document after redirects, and its content. Raises SourceError."""
        reply = self._portal.call(self._document, url, self._body)
        return reply.url, reply.body

    def get(self, url: str) -> Reply:
        """The reply with status 200 after redirects. Raises SourceError."""
        return self._portal.call(self._document, url, self._body)

    def answer(self, url: str) -> Reply:
        """The reply after redirects, whatever its status. Raises SourceError when there is none."""
        return self._portal.call(self._final, url, self._body)

    def hop(self, url: str) -> Reply:
        """The reply of a URL itself, whatever its status, at the pace of robots.txt.

        Raises SourceError when there is none, or robots.txt blocks the URL.
        """
        self.check_robots(url)
        origin = origin_of(_url_of(url))
        if delay := self.rules(origin).crawl_delay(self._config.obey.max_crawl_delay):
            self._paced.throttle.set_crawl_delay(origin, delay)
        return self._portal.call(self._get_once, self._body, _url_of(url))

    def page(self, reply: Reply) -> Page:
        """The page in a reply, parsed in another process."""
        return self._portal.call(self._pool.read, FetchedDocument.of_reply(reply))

    def check_robots(self, url: str) -> None:
        """Raises SourceError when robots.txt blocks a URL."""
        try:
            normalized = normalize_url(url, _KEEP_ALL_PARAMS)
        except InvalidUrl as error:
            raise SourceError(str(error)) from None
        rule = self.rules(origin_of(normalized)).can_fetch(normalized)
        if isinstance(rule, Blocked):
            raise SourceError(f"{url} was not fetched: {rule.reason}")

    def rules(self, origin: str) -> Robots:
        """The robots.txt rules of an origin."""
        return self._portal.call(self._robots_cache.get, origin)

    def robots(self, url: str) -> bytes | None:
        """The content of a robots.txt, None without one."""
        try:
            return self._portal.call(self._document, url, ROBOTS_BODY).body
        except SourceError:
            return None

    async def _final(self, text: str, body: BodyLimits) -> Reply:
        return await follow(partial(self._get_once, body), _url_of(text), MAX_REDIRECTS, _KEEP_ALL_PARAMS)

    async def _document(self, text: str, body: BodyLimits) -> Reply:
        answer, url = await self._final(text, body), _url_of(text)
        if answer.status == 200:
            self._note(text, url, answer)
            mirror = self._source.mirror if self._source else None
            return replace(answer, body=mirror.rewrite(answer.body)) if mirror else answer
        if answer.status not in REDIRECTS:
            kind = SourceError if answer.status not in _NOT_FOUND_STATUSES else DocumentNotFound
            raise kind(f"{answer.url} answered {answer.status}{_status_text(answer.status)}")
        target = redirect_target(answer, _KEEP_ALL_PARAMS)
        if isinstance(target, InvalidUrl):
            raise SourceError(f"{answer.url} redirects to an invalid URL: {target}")
        raise SourceError(f"{url} redirects more than {MAX_REDIRECTS} times, the last time to {target}")

    def _note(self, text: str, url: Url, reply: Reply) -> None:
        if reply.url != url:
            self.redirects.append((url, reply.url))
        if "gzip" in (reply.header("content-encoding") or "").lower():
            self.unpacked.update((text, reply.url))

    def _refusal(self, url: Url) -> str:
        host = origin_of(url).partition("://")[2]
        reason = f"{host} is at a private address: allow it with --host {host}"
        self.private.add(reason)
        return reason

    async def _get_once(self, body: BodyLimits, url: Url) -> Reply:
        try:
            answer = await self._paced.fetch(url, body=body)
        except AskedToWait as error:
            raise SourceError(str(error)) from None
        if isinstance(answer, Failure):
            raise SourceError(self._refusal(url) if answer.code == FailureCode.PRIVATE_ADDRESS else answer.message)
        return answer


def _url_of(text: str) -> Url:
    try:
        return normalize_url(text, _KEEP_ALL_PARAMS)
    except InvalidUrl as error:
        raise SourceError(str(error)) from None


def _status_text(status: int) -> str:
    try:
        return f", {HTTPStatus(status).phrase.lower()}"
    except ValueError:
        return ""


def origins_of(urls: Sequence[str]) -> list[str]:
    """The distinct origins of URLs that a person named. Raises UsageError for a URL that cannot be used."""
    return list(dict.fromkeys(origin_of(parse_url_setting(url, "the URL", _KEEP_ALL_PARAMS)) for url in urls))
