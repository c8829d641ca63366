"""The throttle: when the next request to an origin may start. Pure. Every time is an argument, by one steady clock.

What slows the requests to an origin, from the mildest to the strongest:

- ``rate`` and ``delay`` keep starts apart, and at most ``concurrency`` requests are in flight.
- Latency, unless ``rate`` is 0: when answers take much longer than usual for this origin, fewer requests are in flight,
  and, once there is one only, a pause follows each. When answers are quick again, both recover (additive increase,
  multiplicative decrease). Server errors count as slow answers, but not those of a page that failed before: the page
  may be broken, while the server is well.
- 429 and 503: no request starts until Retry-After has passed, or else 1, 2, 4 … 300 seconds; and fewer are in flight.
  When that fails eight times in a row, over five minutes, the origin is ``down``.
- Server errors only, from the first page on: the same, after 20 pages in a row. When five such waits fail in a row, the
  origin is ``down``. As soon as one page responds, the server is not broken, but pages of it.
- Requests without a response: after five in a row no request starts for 2, 4, 8 … 60 seconds, then one probes. When
  not even a connection is possible, the origin is unreachable: it restarts, or our own network is away, which says
  nothing about the pages. When connections break without a response several times, the origin is ``down``. So is one
  that was not reached even once: nobody waits for half a run, and other sites may wait for their turn.
"""

from collections.abc import Callable
from http import HTTPStatus
from statistics import median
from typing import Final

from msgspec import Struct

from crawler.fetch.permits import NoPermits, Permits
from crawler.fetch.retry import WAIT_STATUSES, RetryPolicy, parse_retry_after
from crawler.model import Failure, Reply, Url
from crawler.url.normalize import origin_of

FULL_WAIT_SECONDS: Final = 0.01
"""The wait when all requests of an origin are in flight: until one ends, which no clock can tell."""
FAILURES_TO_OPEN: Final = 5
ERRORS_TO_BE_FAILING: Final = 20
OPENINGS_TO_BE_DOWN: Final = 5
WAITS_UNTIL_STUCK: Final = 3
WAITS_TO_BE_DOWN: Final = 8
WAITS_TO_BE_BROKEN: Final = 5
WAITED_TO_BE_DOWN: Final = 300.0  # seconds; Retry-After may be short
SLOW_FACTOR: Final = 3.0  # times the usual latency
LEARNING_RESPONSES: Final = 10
"""Responses whose median is the usual latency of an origin, before slower ones slow the crawl."""
MIN_SLOWDOWN_SECONDS: Final = 0.1  # seconds above the usual latency; less is noise
_REFUSED: Final = RetryPolicy()  # pauses after 429 and 503 without a Retry-After
_MAX_PAUSE: Final = 10.0  # seconds between two starts that latency adds
_NOT_CONNECTED: Final = RetryPolicy(first=2.0, longest=60.0)
_NO_CONNECTION_CODES: Final = ("net.", "tls.", "time.connect", "time.tls", "time.first_byte")
_UNREACHABLE_CODES: Final = ("net.refused", "net.unreachable", "net.dns", "net.proxy", "time.connect")
_CONNECTED_CODES: Final = ("http.", "body.", "time.")


class ThrottleOptions(Struct, frozen=True):
    """The pace at one origin.

    At most ``concurrency`` requests in flight and ``rate`` starts per second (0: full speed, without adapting to
    latency), at least ``delay`` seconds between two starts; latency adds at most ten.
    """

    concurrency: int = 4
    rate: float = 10.0
    delay: float = 0.0


class OriginThrottle:
    """The throttle of one origin. Times are Unix time in seconds.

    Public state: ``paused_until`` (no request starts before), ``asked_until`` (the same by Retry-After only), ``delay``
    (the minimum between two starts), ``in_flight``, ``allowed`` (the present limit of requests in flight), ``down``
    (the origin has stopped responding) and ``errors_in_a_row`` (pages whose first response is a server error).
    """

    def __init__(self, pace: ThrottleOptions) -> None:
        self.pace = pace
        self.paused_until = 0.0
        self.asked_until = 0.0
        self.in_flight = 0
        self.down = False
        self.errors_in_a_row = 0
        self._limit = float(pace.concurrency)
        self._window = self._limit
        self.delay = max(1.0 / pace.rate if pace.rate > 0 else 0.0, pace.delay)
        self._next = 0.0
        self._has_crawl_delay = False
        self._early = 0  # requests in flight that started before the Crawl-delay was known
        self._adapts = pace.rate > 0
        self._latency = _LatencyControl()
        self._asked_in_a_row = 0
        self._asked_at = 0.0
        self._asked_first = 0.0
        self._failed_in_a_row = 0
        self._openings = 0
        self._opened_at = 0.0
        self._is_cut_off = False  # the last failure says that no connection was possible
        self._was_reached = False

    @property
    def allowed(self) -> int:
        """The present limit of requests in flight; 1 while probing whether the origin answers again."""
        return 1 if self._openings else max(1, int(self._window))

    @property
    def is_stuck(self) -> bool:
        """Whether several waits in a row were in vain."""
        return self._asked_in_a_row >= WAITS_UNTIL_STUCK

    @property
    def is_unreachable(self) -> bool:
        """Whether no connection is possible, so that single requests probe when it is again."""
        return self._openings > 0 and self._is_cut_off

    @property
    def is_silent(self) -> bool:
        """Whether the last request had no response."""
        return self._failed_in_a_row > 0 or self._openings > 0

    def set_crawl_delay(self, seconds: float, now: float) -> float:
        """Obey a Crawl-delay of robots.txt: one request at a time, and so far apart, the first after robots.txt.

        Returns the seconds that the caller has to wait if its request started before the delay was known.
        """
        if seconds > 0 and not self._has_crawl_delay:
            self._has_crawl_delay = True
            self.delay = max(self.delay, seconds)
            self._limit = self._window = 1.0
            self._next, self._early = now + self.delay, self.in_flight
        if not self._early:
            return 0.0
        self._early -= 1
        self._next += self.delay
        return self._next - self.delay - now

    def seconds_until_start(self, now: float) -> float:
        """Seconds until a request may start; 0 for now."""
        if self.in_flight >= self.allowed:
            return max(FULL_WAIT_SECONDS, self.paused_until - now)
        return max(0.0, self.paused_until - now, self._next - now)

    def pause(self, until: float) -> None:
        """Start no request before this time, as the server requested."""
        self.asked_until = self.paused_until = max(self.paused_until, until)

    def start(self, now: float) -> None:
        """A request starts."""
        self.in_flight += 1
        self._next = now + self.delay

    def finish(
        self, now: float, answer: Reply | Failure | None, *, had_failed: bool = False, is_broken: bool = False
    ) -> None:
        """A request ended; None: it was never sent, or a firewall responded, which says nothing about the load.

        ``had_failed``: the page had failed before. ``is_broken``: no page of the crawl responded without an error yet.
        """
        self.in_flight -= 1
        if answer is None:
            return
        started = now - answer.elapsed
        if isinstance(answer, Failure):
            if answer.code.startswith(_NO_CONNECTION_CODES):
                self._is_cut_off = answer.code.startswith(_UNREACHABLE_CODES)
                self._not_connected(now, started)
            elif answer.code.startswith(_CONNECTED_CODES):
                self._connected(started)
            return
        self._connected(started)
        is_error = answer.status >= 500 and not had_failed
        self.errors_in_a_row = self.errors_in_a_row + is_error if answer.status >= 500 else 0
        is_broken = is_broken and answer.status not in WAIT_STATUSES and self.errors_in_a_row >= ERRORS_TO_BE_FAILING
        if answer.status in WAIT_STATUSES or is_broken:
            self._on_wait_request(now, started, parse_retry_after(answer.header("retry-after"), now))
            self.down = self.down or (is_broken and self._asked_in_a_row >= WAITS_TO_BE_BROKEN)
            return
        if started >= self._asked_at:
            self._asked_in_a_row = 0
        self._adapt(now, answer.elapsed, is_error)

    def _on_wait_request(self, now: float, started: float, retry_after: float | None) -> None:
        # Answers to requests that were in flight already repeat the same demand.
        is_news = started >= self._asked_at
        if retry_after is not None and retry_after >= 1.0:
            self.pause(now + retry_after)
        elif is_news:
            self.paused_until = max(self.paused_until, now + _REFUSED.pause(self._asked_in_a_row))
        if is_news:
            self._window = max(1.0, self._window / 2)
            self._asked_at = now
            self._asked_first = self._asked_first if self._asked_in_a_row else now
            self._asked_in_a_row += 1
        waited = now - self._asked_first
        self.down = self._asked_in_a_row >= WAITS_TO_BE_DOWN and waited >= WAITED_TO_BE_DOWN

    def _connected(self, started: float) -> None:
        self._was_reached = True
        if started >= self._opened_at:
            self._failed_in_a_row = self._openings = 0
            self.down = False

    def _not_connected(self, now: float, started: float) -> None:
        if started < self._opened_at:
            return  # it was in flight already when the others failed
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= FAILURES_TO_OPEN or self._openings:
            self._openings += 1
            self._opened_at = now
            self._failed_in_a_row = 0
            self.down = self._openings >= OPENINGS_TO_BE_DOWN and not (self._is_cut_off and self._was_reached)
            self.paused_until = max(self.paused_until, now + _NOT_CONNECTED.pause(self._openings - 1))

    def _adapt(self, now: float, elapsed: float, is_error: bool) -> None:
        if not self._adapts:
            self._window = min(self._limit, self._window + 1.0 / max(1.0, self._window))
            return
        change = self._latency.observe(now, elapsed, is_error)
        if change < 0:
            self._window = max(1.0, self._window * 0.7)
            if self._window == 1.0:
                self._latency.lengthen()
        elif change > 0:
            self._latency.shorten()
            if not self._latency.pause:
                self._window = min(self._limit, self._window + 1.0 / self._window)
        if self._latency.pause:
            self._next = max(self._next, now + self._latency.pause)


class _LatencyControl:
    """Compares the latency of an origin with its own usual one."""

    def __init__(self) -> None:
        self.pause = 0.0
        self._usual = 0.0
        self._recent = 0.0
        self._slowed_at = 0.0
        self._first: list[float] = []  # seconds of the first responses

    def observe(self, now: float, seconds: float, is_error: bool) -> int:
        """-1: slow down, 1: recover, 0: wait until the last change takes effect."""
        if len(self._first) < LEARNING_RESPONSES and not is_error:
            # The start page and sitemap.xml often come from a cache, so one response says nothing about the others.
            self._first.append(seconds)
            self._usual = self._recent = median(self._first)
            return 1
        self._recent += 0.3 * (seconds - self._recent)
        # The usual latency follows quick answers fast and slow ones slowly, so that an overload shows.
        step = 0.1 * (seconds - self._usual) if seconds < self._usual else 0.01 * (self._recent - self._usual)
        self._usual += 0.0 if is_error else step
        is_slow = is_error or self._recent > max(SLOW_FACTOR * self._usual, self._usual + MIN_SLOWDOWN_SECONDS)
        if not is_slow:
            return 1
        if now - seconds < self._slowed_at:
            return 0
        self._slowed_at = now
        return -1

    def lengthen(self) -> None:
        """Double the pause, from half the latency to twice the latency, or a second."""
        longest = min(_MAX_PAUSE, max(1.0, 2 * self._recent))
        self.pause = min(longest, max(2 * self.pause, self._recent / 2))

    def shorten(self) -> None:
        """Halve the pause, down to none."""
        self.pause = self.pause / 2 if self.pause > 0.05 else 0.0


class Throttle:
    """The throttles of all origins. ``spare`` leases may be out beyond the connections of one origin, for parsing.

    ``clock`` gives the times of all calls: Unix time that no setting of the machine's clock changes. ``folder`` is the
    origin whose pages are read from a folder, without a throttle. ``permits`` say which origins are free.
    """

    def __init__(
        self,
        pace: ThrottleOptions,
        spare: int,
        clock: Callable[[], float],
        folder: str = "",
        permits: Permits | None = None,
    ) -> None:
        self.clock = clock
        self._pace = pace
        self._folder = folder
        self._permits = permits or NoPermits()
        self._throttles: dict[str, OriginThrottle] = {}
        self._is_broken = True  # until a page responds without a server error
        self.capacity = pace.concurrency + spare

    def note_page(self) -> None:
        """A page responded without a server error: the site is not broken."""
        self._is_broken = False

    def seconds_until_ready(self, origin: str, now: float) -> float:
        """Seconds until a request may start at an origin, 0 for now."""
        throttle = self._throttles.get(origin)
        wait = throttle.seconds_until_start(now) if throttle else 0.0
        return wait if wait or origin == self._folder else self._permits.seconds_until_allowed(origin)

    def start(self, url: Url, now: float) -> None:
        """A request starts."""
        origin = origin_of(url)
        self._permits.start(origin)
        self._origin_throttle(origin).start(now)

    def finish(
        self, url: Url, now: float, answer: Reply | Failure | None, *, had_failed: bool = False, is_page: bool = True
    ) -> None:
        """A request ended: see :meth:`OriginThrottle.finish`. A broken site may still serve a sitemap, a file."""
        origin = origin_of(url)
        throttle = self._origin_throttle(origin)
        asked_before = throttle.asked_until
        if is_page and isinstance(answer, Reply) and answer.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            self.note_page()
        throttle.finish(now, answer, had_failed=had_failed, is_broken=self._is_broken)
        if throttle.asked_until > max(now, asked_before):
            self._permits.pause(origin, throttle.asked_until - now)
        self._permits.end(origin, throttle.seconds_until_start(now))

    def set_crawl_delay(self, origin: str, seconds: float) -> float:
        """Obey a Crawl-delay of robots.txt at an origin: see :meth:`OriginThrottle.set_crawl_delay`."""
        if origin == self._folder:
            return 0.0
        return self._origin_throttle(origin).set_crawl_delay(seconds, self.clock())

    def pause(self, origin: str, now: float, seconds: float) -> None:
        """Obey a Retry-After of an origin that an earlier run received: start no request for so many seconds."""
        self._origin_throttle(origin).pause(now + seconds)

    def own_delay(self, url: Url) -> float:
        """Seconds between two requests to the origin of a URL by our own pace: rate, delay or Crawl-delay."""
        return self._origin_throttle(origin_of(url)).delay

    def has_retry_after(self, now: float) -> bool:
        """Whether a Retry-After of some origin is still running."""
        return any(throttle.asked_until > now for throttle in self._throttles.values())

    def is_asked_in_vain(self) -> bool:
        """Whether several waits in a row were in vain at some origin."""
        return any(throttle.is_stuck for throttle in self._throttles.values())

    def holds_back(self, now: float) -> bool:
        """Whether a request could start but for the pace or a pause, and no origin has as many as it may have."""
        is_full = any(throttle.in_flight >= throttle.allowed for throttle in self._throttles.values())
        return not is_full and any(self.seconds_until_ready(origin, now) > 0 for origin in self._throttles)

    def are_all_down(self) -> bool:
        """Whether every origin has stopped responding, but not all are unreachable."""
        throttles = self._throttles.values()
        return any(origin.down for origin in throttles) and all(
            origin.down or origin.is_unreachable for origin in throttles
        )

    def are_all_unreachable(self) -> bool:
        """Whether no origin can be connected to."""
        return bool(self._throttles) and all(throttle.is_unreachable for throttle in self._throttles.values())

    def is_unreachable(self, url: Url) -> bool:
        """Whether the origin of a URL cannot be connected to."""
        return self._origin_throttle(origin_of(url)).is_unreachable

    def is_failing(self, url: Url) -> bool:
        """Whether the origin of a URL returns server errors only, whatever the URL."""
        return self._origin_throttle(origin_of(url)).errors_in_a_row >= ERRORS_TO_BE_FAILING

    def is_silent(self, url: Url) -> bool:
        """Whether the last request to the origin of a URL had no response."""
        return self._origin_throttle(origin_of(url)).is_silent

    def _origin_throttle(self, origin: str) -> OriginThrottle:
        throttle = self._throttles.get(origin)
        if throttle is None:
            pace = ThrottleOptions(self._pace.concurrency, 0, 0) if origin == self._folder else self._pace
            throttle = self._throttles[origin] = OriginThrottle(pace)
        return throttle
