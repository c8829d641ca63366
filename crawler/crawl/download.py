"""Opens sitemaps by URL for whoever reads synchronously: one at a time, at a pace, redirects followed and noted."""

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
from crawler.config.plan import parse_url_setting
from crawler.config.source import SiteSource
from crawler.fetch.errors import FailureCode
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import ROBOTS_BODY, BodyLimits
from crawler.fetch.paced_fetcher import AskedToWait, PacedFetcher, follow
from crawler.fetch.redirect import REDIRECTS, redirect_target
from crawler.fetch.throttle import ThrottleOptions
from crawler.model import Failure, Reply, Url
from crawler.robots.cache import RobotsCache
from crawler.robots.rules import Blocked, Robots
from crawler.url.normalize import InvalidUrl, normalize_url, origin_of
from crawler.url.params import UrlParams
from sitemap import SourceError

MAX_REDIRECTS: Final = 5
_KEEP_ALL_PARAMS: Final = UrlParams((), ())  # a sitemap's URL keeps all of its parameters


_NOT_FOUND_STATUSES: Final = frozenset({404, 410})


class DocumentNotFound(SourceError):
    """The server says that there is no such document."""


class Downloader:
    """Fetches documents while it is entered. ``redirects`` are pairs of the URL asked for and the one that answered.

    ``unpacked`` are the URLs of files that are packed, and were unpacked on their way because the server called that a
    content coding (as Apache does with its AddEncoding). ``private`` are the reasons, one for each host, why hosts at
    private addresses were not asked.

    ``homes`` are the origins that the operator names: they may be at private addresses, and the first of them gets the
    secrets of the configuration. Nothing else may be private. With a ``source`` the first of them is read there.
    robots.txt is not asked, since a person named the URL; :meth:`ask_leave` does.
    """

    def __init__(
        self, config: Config, homes: Sequence[str], max_bytes: int, source: SiteSource | None = None
    ) -> None:
        self.redirects: list[tuple[str, str]] = []
        self.unpacked: set[str] = set()
        self.private: set[str] = set()
        self._config = config
        self._origins = homes
        self._source = source
        # One byte more than is read, so that it is the reader who says that the document is too large.
        self._body = BodyLimits(wire=max_bytes + 1, decoded=max_bytes + 1, refuse=max(100 * 2**20, max_bytes))
        self._stack = ExitStack()
        self._portal: BlockingPortal
        self._fetcher: Fetcher
        self._paced: PacedFetcher
        self._robots_cache: RobotsCache

    def __enter__(self) -> Self:
        """Raises UsageError for options that cannot work."""
        self._fetcher = build_fetcher(self._config, self._origins, source=self._source)
        pace, retries = self._config.pace, self._config.fetch.retries
        self._paced = PacedFetcher(self._fetcher, ThrottleOptions(1, pace.rate, pace.delay), retries)
        self._robots_cache = RobotsCache(
            self._fetcher,
            self._config.fetch.user_agent,
            obey=self._config.obey.robots,
            params=_KEEP_ALL_PARAMS,
        )
        self._portal = self._stack.enter_context(start_blocking_portal("asyncio"))
        self._stack.callback(lambda: self._portal.call(self._fetcher.aclose))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def open(self, url: str) -> bytes:
        """The document at a URL, redirects followed. SourceError says why there is none."""
        return self._portal.call(self._document, url, self._body).body

    def locate(self, url: str) -> tuple[str, bytes]:
        """The URL that a document really has, at the end of its redirects, and its content. SourceError as ``open``."""
        reply = self._portal.call(self._document, url, self._body)
        return reply.url, reply.body

    def get(self, url: str) -> Reply:
        """The answer 200 at the end of the redirects, with its headers. SourceError as ``open``."""
        return self._portal.call(self._document, url, self._body)

    def check_robots(self, url: str) -> None:
        """Raises SourceError when the robots.txt of its host forbids to ask for a URL."""
        try:
            asked = normalize_url(url, _KEEP_ALL_PARAMS)
        except InvalidUrl as error:
            raise SourceError(str(error)) from None
        answer = self.rules(origin_of(asked)).can_fetch(asked)
        if isinstance(answer, Blocked):
            raise SourceError(f"{url} may not be fetched: {answer.reason}")

    def rules(self, home: str) -> Robots:
        """The robots.txt of an origin, read as one that is obeyed, or what its absence means."""
        return self._portal.call(self._robots_cache.get, home)

    def robots(self, url: str) -> bytes | None:
        """The content of a robots.txt, or None when there is none to be had."""
        try:
            return self._portal.call(self._document, url, ROBOTS_BODY).body
        except SourceError:
            return None

    async def _document(self, text: str, body: BodyLimits) -> Reply:
        try:
            url = normalize_url(text, _KEEP_ALL_PARAMS)
        except InvalidUrl as error:
            raise SourceError(str(error)) from None
        answer = await follow(partial(self._get_once, body), url, MAX_REDIRECTS, _KEEP_ALL_PARAMS)
        if answer.status == 200:
            self._note(text, url, answer)
            return self._published(answer)
        if answer.status not in REDIRECTS:
            kind = SourceError if answer.status not in _NOT_FOUND_STATUSES else DocumentNotFound
            raise kind(f"{answer.url} answered {answer.status}{_status_text(answer.status)}")
        target = redirect_target(answer, _KEEP_ALL_PARAMS)
        if isinstance(target, InvalidUrl):
            raise SourceError(f"{answer.url} redirects nowhere: {target}")
        raise SourceError(f"{url} redirects more than {MAX_REDIRECTS} times, at last to {target}")

    def _published(self, reply: Reply) -> Reply:
        """What a source says of itself it says of the site (one that is packed is left as it is)."""
        mirror = self._source.mirror if self._source else None
        return replace(reply, body=mirror.rewrite(reply.body)) if mirror else reply

    def _note(self, text: str, asked: Url, reply: Reply) -> None:
        if reply.url != asked:
            self.redirects.append((asked, reply.url))
        if "gzip" in (reply.header("content-encoding") or "").lower():
            self.unpacked.update((text, reply.url))

    def _refusal(self, url: Url) -> str:
        where = origin_of(url).partition("://")[2]
        said = f"{where} is at a private address: name it with --host {where} if it is meant"
        self.private.add(said)
        return said

    async def _get_once(self, body: BodyLimits, url: Url) -> Reply:
        try:
            answer = await self._paced.fetch(url, body=body)
        except AskedToWait as error:
            raise SourceError(str(error)) from None
        if isinstance(answer, Failure):
            raise SourceError(
                self._refusal(url) if answer.code == FailureCode.PRIVATE_ADDRESS else answer.message
            )
        return answer


def _status_text(status: int) -> str:
    try:
        return f", {HTTPStatus(status).phrase.lower()}"
    except ValueError:
        return ""


def origins_of(urls: Sequence[str]) -> list[str]:
    """The origins of URLs that a person named, each once. Raises UsageError for one that cannot be used."""
    return list(dict.fromkeys(origin_of(parse_url_setting(url, "the URL", _KEEP_ALL_PARAMS)) for url in urls))
