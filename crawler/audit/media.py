"""Checks whether the images and videos in sitemaps can be fetched: one request at a time to each host, throttled."""

from collections.abc import Callable, Iterable
from typing import Final

import anyio
from msgspec import Struct

from crawler.audit.finding import AuditFinding
from crawler.audit.health.entries import ListedMedia, MediaRole, check_media_url
from crawler.config.config import Config
from crawler.fetch.errors import FailureCode
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import ROBOTS_BODY, BodyLimits
from crawler.fetch.paced_fetcher import AskedToWait, PacedFetcher, follow
from crawler.fetch.throttle import ThrottleOptions
from crawler.model import Failure, Reply, Url
from crawler.robots.cache import RobotsCache
from crawler.robots.rules import Blocked, RobotsAccess
from crawler.url.normalize import DEFAULT_PARAMS, origin_of

HOSTS_AT_ONCE: Final = 8
PROBE_BYTES: Final = 1024  # bytes to request of each; too many servers answer HEAD unlike GET
PROBE_BODY: Final = BodyLimits(wire=PROBE_BYTES, decoded=PROBE_BYTES, refuse=2**62, ratio=2**30)
_RANGE: Final = (("Range", f"bytes=0-{PROBE_BYTES - 1}"),)
_UNSATISFIABLE: Final = 416  # an empty file has no first byte (RFC 9110, section 15.5.17)


class CheckedMedia(Struct):
    """The result of the check: how many URLs were ``requested``, the findings, and notes for the reader.

    ``answering`` URLs can be fetched; of ``uncertain`` ones that is unknown. ``is_whole``: the sitemaps list no more.
    """

    requested: int
    findings: list[AuditFinding]
    notes: list[str]
    answering: list[str] = []
    uncertain: list[str] = []
    is_whole: bool = False

    @property
    def are_none(self) -> bool:
        """Whether the sitemaps list none."""
        return self.is_whole and not (self.findings or self.answering or self.uncertain)


async def check_media(
    config: Config,
    fetcher: Fetcher,
    robots_cache: RobotsCache,
    media: Iterable[ListedMedia],
    watch: Callable[[int, int], object] = lambda _done, _total: None,
) -> CheckedMedia:
    """Fetch each distinct URL in order, up to ``audit.max_media``; none if ``audit.media`` is off.

    Obeys the robots.txt of each host. ``watch`` gets the number done and the total after each. Raises StorageError.
    """
    media_urls, more = _choose(media, config.audit.max_media if config.audit.media else 0)
    requests = MediaRequests(config, fetcher, robots_cache, lambda done: watch(done, len(media_urls)))
    by_origin: dict[str, list[ListedMedia]] = {}
    for medium in media_urls:
        by_origin.setdefault(origin_of(Url(medium.url)), []).append(medium)
    limiter = anyio.CapacityLimiter(HOSTS_AT_ONCE)
    async with anyio.create_task_group() as group:
        for origin, listed in by_origin.items():
            group.start_soon(requests.check_host, origin, listed, limiter)
    notes = requests.notes()
    if more and config.audit.media:
        notes.insert(
            0,
            f"only {len(media_urls):,} of the images and videos in sitemaps were fetched: raise audit.max_media to "
            f"fetch more",
        )
    requests.findings.sort(key=lambda finding: finding.url)
    bad = {listed_medium.url for listed_medium in requests.findings}
    return CheckedMedia(
        requests.requested,
        requests.findings,
        notes,
        answering=sorted(requests.answering - bad),
        uncertain=sorted({listed_medium.url for listed_medium in media_urls} - requests.answering - bad),
        is_whole=not more,
    )


def _choose(media: Iterable[ListedMedia], limit: int) -> tuple[list[ListedMedia], bool]:
    """The first distinct ones, and whether there are more. A URL that is also a player is checked as both."""
    chosen: dict[tuple[str, bool], ListedMedia] = {}
    urls: set[str] = set()
    for medium in media:
        key = medium.url, medium.role is MediaRole.PLAYER
        if key in chosen:
            continue
        if medium.url not in urls and len(urls) >= limit:
            return list(chosen.values()), True
        urls.add(medium.url)
        chosen[key] = medium
    return list(chosen.values()), False


class MediaRequests:
    """The requests: each host's one after the other, throttled, as its robots.txt allows."""

    def __init__(
        self,
        config: Config,
        fetcher: Fetcher,
        robots_cache: RobotsCache,
        watch: Callable[[int], object] = lambda _: None,
        nouns: str = "images and videos",
        retries: int | None = None,
    ) -> None:
        self.requested = 0
        self.findings: list[AuditFinding] = []
        self.answering: set[str] = set()
        self._config = config
        self._fetcher = fetcher
        self._robots_cache = robots_cache
        self._watch = watch
        self._done = 0
        pace = ThrottleOptions(1, config.pace.rate, config.pace.delay)
        self._nouns = nouns
        self._paced = PacedFetcher(fetcher, pace, config.fetch.retries if retries is None else retries)
        self._blocked = 0
        self._silent: dict[str, int] = {}  # hosts that asked to wait, and how many URLs were left
        self._private: set[str] = set()
        self._known_dead: dict[str, Failure | None] = {}

    def notes(self) -> list[str]:
        """What was not fetched, and why."""
        notes = []
        if self._blocked:
            notes.append(f"{self._blocked:,} {self._nouns} were not fetched, because robots.txt blocks them")
        for origin, left in self._silent.items():
            notes.append(f"{origin} requested a pause, so {left:,} of its {self._nouns} were not fetched")
        text = "is at a private address and was not requested: allow it with --host"
        notes += [f"{origin} {text}" for origin in sorted(self._private)]
        return notes

    async def check_host(self, origin: str, media: list[ListedMedia], limiter: anyio.CapacityLimiter) -> None:
        """Check all media of one host."""
        async with limiter:
            for number, medium in enumerate(media):
                answer = await self.follow(Url(medium.url))
                self._done += 1
                self._watch(self._done)
                if self.gives_up(origin, len(media) - number):
                    return
                if answer is None:
                    continue
                self.requested += origin not in self._private
                if finding := check_media_url(medium, answer):
                    self.findings.append(finding)
                elif isinstance(answer, Reply) and answer.status < 300:
                    self.answering.add(medium.url)

    def gives_up(self, origin: str, left: int) -> bool:
        """Whether a host requested a long pause, so that ``left`` of its URLs are not fetched."""
        if origin in self._silent:
            self._silent[origin] = left
        return origin in self._silent

    async def follow(self, url: Url, method: str = "GET") -> Reply | Failure | None:
        """The answer at the end of its redirects; None when a URL on the way may not be fetched."""

        async def get(hop: Url) -> Reply | Failure | None:
            return await self.get(hop, method=method)

        return await follow(get, url, self._config.fetch.max_redirects, DEFAULT_PARAMS.keeping_all)

    async def get(self, url: Url, body: BodyLimits = PROBE_BODY, method: str = "GET") -> Reply | Failure | None:
        """The answer to one URL, with retries; None when it may not be fetched."""
        origin = origin_of(url)
        rules = await self._robots_cache.get(origin)
        if rules.access is RobotsAccess.NOTHING and (dead := await self._host_failure(origin)):
            return dead
        if isinstance(rules.can_fetch(url), Blocked):
            self._blocked += 1
            return None
        if delay := rules.crawl_delay(self._config.obey.max_crawl_delay):
            self._paced.throttle.set_crawl_delay(origin, delay)
        headers = _RANGE if body is PROBE_BODY and method == "GET" else ()
        try:
            answer = await self._paced.fetch(url, headers, body, method)
            if isinstance(answer, Reply) and answer.status == _UNSATISFIABLE and headers:
                answer = await self._paced.fetch(url, body=body)
        except AskedToWait:
            self._silent.setdefault(origin, 1)
            return None
        return answer

    async def _host_failure(self, origin: str) -> Failure | None:
        """The failure of a host that does not even answer for its robots.txt, which may always be fetched."""
        if origin not in self._known_dead:
            answer = await self._fetcher.fetch(Url(f"{origin}/robots.txt"), body=ROBOTS_BODY)
            self._known_dead[origin] = answer if isinstance(answer, Failure) else None
            if isinstance(answer, Failure) and answer.code == FailureCode.PRIVATE_ADDRESS:
                self._private.add(origin)
        return self._known_dead[origin]
