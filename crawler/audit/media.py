"""Asks whether the images and videos that sitemaps list can be had: one request at a time to each host, at its pace."""

import time
from collections.abc import Callable, Iterable
from typing import Final

import anyio
from msgspec import Struct

from crawler.audit.finding import AuditFinding
from crawler.audit.health.media import ListedMedia, MediaRole, check_media_url
from crawler.config.config import Config
from crawler.fetch.errors import FailureCode
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import ROBOTS_BODY, BodyLimits
from crawler.fetch.paced_fetcher import AskedToWait, PacedFetcher, follow
from crawler.fetch.throttle import ThrottleOptions
from crawler.model import Failure, Reply, Url
from crawler.robots.cache import RobotsCache
from crawler.robots.rules import Blocked, RobotsAccess
from crawler.url.normalize import origin_of
from crawler.url.params import UrlParams

HOSTS_AT_ONCE: Final = 8
PROBE_BYTES: Final = 1024  # bytes of each that are asked for; HEAD is answered by too few as they answer GET
PROBE_BODY: Final = BodyLimits(wire=PROBE_BYTES, decoded=PROBE_BYTES, refuse=2**62, ratio=2**30)
_RANGE: Final = (("Range", f"bytes=0-{PROBE_BYTES - 1}"),)
_UNSATISFIABLE: Final = 416  # of what is empty there is no first byte (RFC 9110, section 15.5.17)
_KEEP_ALL_PARAMS: Final = UrlParams((), ())


class CheckedMedia(Struct):
    """What came of it: how many URLs were ``asked`` for, what cannot be had, and what a person should know.

    ``answering`` can be had, and of ``unsure`` that is not known. ``is_whole``: no more were listed.
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
    rulebook: RobotsCache,
    media: Iterable[ListedMedia],
    clock: Callable[[], float] = time.time,
    watch: Callable[[int, int], object] = lambda _done, _total: None,
) -> CheckedMedia:
    """Ask for each distinct URL, in the order given, up to ``audit.max_media`` of them; none if ``audit.media`` is off.

    robots.txt of each host is obeyed. ``clock`` gives Unix time; ``watch`` is told after each how many of how many are
    done. Raises StorageError when rules cannot be kept.
    """
    chosen, more = _choose(media, config.audit.max_media if config.audit.media else 0)
    asking = MediaRequests(config, fetcher, rulebook, clock, lambda done: watch(done, len(chosen)))
    by_origin: dict[str, list[ListedMedia]] = {}
    for medium in chosen:
        by_origin.setdefault(origin_of(Url(medium.url)), []).append(medium)
    limiter = anyio.CapacityLimiter(HOSTS_AT_ONCE)
    async with anyio.create_task_group() as group:
        for home, theirs in by_origin.items():
            group.start_soon(asking.check_host, home, theirs, limiter)
    notes = asking.notes()
    if more and config.audit.media:
        notes.insert(
            0,
            f"{len(chosen):,} of the images and videos in sitemaps were asked for: raise --max-media for more",
        )
    asking.findings.sort(key=lambda finding: finding.url)
    bad = {each.url for each in asking.findings}
    return CheckedMedia(
        asking.asked,
        asking.findings,
        notes,
        answering=sorted(asking.answering - bad),
        uncertain=sorted({each.url for each in chosen} - asking.answering - bad),
        is_whole=not more,
    )


def _choose(media: Iterable[ListedMedia], most: int) -> tuple[list[ListedMedia], bool]:
    """The first that are distinct, and whether there are more. What is also a player is asked for as both."""
    chosen: dict[tuple[str, bool], ListedMedia] = {}
    urls: set[str] = set()
    for medium in media:
        key = medium.url, medium.role is MediaRole.PLAYER
        if key in chosen:
            continue
        if medium.url not in urls and len(urls) >= most:
            return list(chosen.values()), True
        urls.add(medium.url)
        chosen[key] = medium
    return list(chosen.values()), False


class MediaRequests:
    """The requests, each host's in turn, at its pace and as its robots.txt allows."""

    def __init__(
        self,
        config: Config,
        fetcher: Fetcher,
        rulebook: RobotsCache,
        clock: Callable[[], float],
        watch: Callable[[int], object] = lambda _: None,
    ) -> None:
        self.asked = 0
        self.findings: list[AuditFinding] = []
        self.answering: set[str] = set()
        self._config = config
        self._fetcher = fetcher
        self._robots_cache = rulebook
        self._watch = watch
        self._done = 0
        self._paced = PacedFetcher(
            fetcher, ThrottleOptions(1, config.pace.rate, config.pace.delay), config.fetch.retries, clock
        )
        self._blocked = 0
        self._silent: dict[str, int] = {}  # hosts that want no request for now, and what was left there
        self._private: set[str] = set()
        self._known_dead: dict[str, Failure | None] = {}

    def notes(self) -> list[str]:
        """What was not asked for, and why."""
        notes = []
        if self._blocked:
            notes.append(f"{self._blocked:,} images and videos were not asked for: robots.txt forbids it")
        for home, left in self._silent.items():
            notes.append(f"{home} asked to wait: {left:,} of its images and videos were not asked for")
        said = "is at a private address and was not asked: name it with --host if it is meant"
        notes += [f"{home} {said}" for home in sorted(self._private)]
        return notes

    async def check_host(self, home: str, media: list[ListedMedia], limiter: anyio.CapacityLimiter) -> None:
        """Ask one host for all of them."""
        async with limiter:
            for number, medium in enumerate(media):
                answer = await self._follow(Url(medium.url))
                self._done += 1
                self._watch(self._done)
                if home in self._silent:
                    self._silent[home] = len(media) - number
                    return
                if answer is None:
                    continue
                self.asked += home not in self._private
                if finding := check_media_url(medium, answer):
                    self.findings.append(finding)
                elif isinstance(answer, Reply) and answer.status < 300:
                    self.answering.add(medium.url)

    async def _follow(self, url: Url) -> Reply | Failure | None:
        """The answer at the end of its redirects; None when somebody there is not to be asked."""
        return await follow(self.get, url, self._config.fetch.max_redirects, _KEEP_ALL_PARAMS)

    async def get(self, url: Url, body: BodyLimits = PROBE_BODY) -> Reply | Failure | None:
        """The answer to one URL, tried again while that may help; None when it is not to be asked for."""
        home = origin_of(url)
        rules = await self._robots_cache.get(home)
        if rules.access is RobotsAccess.NOTHING and (dead := await self._host_failure(home)):
            return dead
        if isinstance(rules.can_fetch(url), Blocked):
            self._blocked += 1
            return None
        if delay := rules.crawl_delay(self._config.obey.max_crawl_delay):
            self._paced.lanes.set_crawl_delay(home, delay)
        headers = _RANGE if body is PROBE_BODY else ()
        try:
            answer = await self._paced.fetch(url, headers, body)
            if isinstance(answer, Reply) and answer.status == _UNSATISFIABLE and headers:
                answer = await self._paced.fetch(url, body=body)
        except AskedToWait:
            self._silent.setdefault(home, 1)
            return None
        return answer

    async def _host_failure(self, home: str) -> Failure | None:
        """How a host fails that does not even answer for its robots.txt, which may always be asked for."""
        if home not in self._known_dead:
            answer = await self._fetcher.fetch(Url(f"{home}/robots.txt"), body=ROBOTS_BODY)
            self._known_dead[home] = answer if isinstance(answer, Failure) else None
            if isinstance(answer, Failure) and answer.code == FailureCode.PRIVATE_ADDRESS:
                self._private.add(home)
        return self._known_dead[home]
