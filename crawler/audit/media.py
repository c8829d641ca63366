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
_TOO_MANY: Final = 429
_UNSATISFIABLE: Final = 416  # an empty file has no first byte (RFC 9110, section 15.5.17)


class CheckedMedia(Struct):
    """The result of the check: the findings, and notes for the reader.

    ``answering`` URLs can be fetched; of ``uncertain`` ones that is unknown. ``is_whole``: the sitemaps list no more.
    """

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
    chosen, more = _choose(media, config.audit.max_media if config.audit.media else 0)
    requests = MediaRequests(config, fetcher, robots_cache)
    answers = await requests.follow_all((medium.url for medium in chosen), watch)
    judged = (check_media_url(medium, answers[medium.url]) for medium in chosen if medium.url in answers)
    findings = sorted(filter(None, judged), key=lambda finding: finding.url)
    bad = {finding.url for finding in findings}
    good = {url for url, answer in answers.items() if isinstance(answer, Reply) and answer.status < 300} - bad
    notes = requests.notes()
    if more and config.audit.media:
        notes.insert(
            0,
            f"only {len(chosen):,} of the images and videos in sitemaps were fetched: raise audit.max_media to "
            f"fetch more",
        )
    return CheckedMedia(
        findings,
        notes,
        answering=sorted(good),
        uncertain=sorted({medium.url for medium in chosen} - good - bad),
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
        nouns: str = "images and videos",
        retries: int | None = None,
    ) -> None:
        self._config = config
        self._fetcher = fetcher
        self._robots_cache = robots_cache
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

    async def follow_all(
        self, urls: Iterable[str], watch: Callable[[int, int], object], method: str = "GET"
    ) -> dict[str, Reply | Failure]:
        """The answers of URLs by these, without those that may not be fetched. HEAD that fails is repeated by GET.

        ``watch`` gets the number done and the total after each.
        """
        by_origin: dict[str, list[str]] = {}
        for url in dict.fromkeys(urls):
            by_origin.setdefault(origin_of(Url(url)), []).append(url)
        total, done = sum(map(len, by_origin.values())), 0
        answers: dict[str, Reply | Failure] = {}
        limiter = anyio.CapacityLimiter(HOSTS_AT_ONCE)

        async def ask_host(origin: str, of_host: list[str]) -> None:
            nonlocal done
            async with limiter:
                for number, url in enumerate(of_host):
                    answer = await self.follow(Url(url), method)
                    if method == "HEAD" and isinstance(answer, Reply) and _may_differ(answer):
                        answer = await self.follow(Url(url))
                    done += 1
                    watch(done, total)
                    if origin in self._silent:  # it requested a long pause
                        self._silent[origin] = len(of_host) - number
                        return
                    if answer is not None:
                        answers[url] = answer

        async with anyio.create_task_group() as group:
            for origin, of_host in by_origin.items():
                group.start_soon(ask_host, origin, of_host)
        return answers

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


def _may_differ(answer: Reply) -> bool:
    """Whether GET may be answered in another way than HEAD: some servers do not know HEAD."""
    return answer.status >= 400 and answer.status != _TOO_MANY
