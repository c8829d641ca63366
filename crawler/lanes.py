"""The lanes of a crawl: one for each origin, each worked at its own pace. Asks politeness, and decides nothing."""

from crawler.model import Failure, Reply, Url
from crawler.politeness import Lane, Pace
from crawler.url.normalize import origin


class Lanes:
    """``spare`` leases may be out beyond the connections of one origin: pages being read need no connection.

    ``folder`` is an origin that nobody serves, since its pages are read from a folder: no pace is kept there.
    """

    def __init__(self, pace: Pace, spare: int, folder: str = "") -> None:
        self._pace = pace
        self._folder = folder
        self._lanes: dict[str, Lane] = {}
        self.capacity = pace.concurrency + spare

    def ready(self, home: str, now: float) -> float:
        """Seconds until a request may start at an origin, 0 for now."""
        lane = self._lanes.get(home)
        return lane.may_start(now) if lane else 0.0

    def start(self, url: Url, now: float) -> None:
        """A request starts."""
        self._of(origin(url)).start(now)

    def finish(self, url: Url, now: float, answer: Reply | Failure | None) -> None:
        """A request ended; None: it was never sent."""
        self._of(origin(url)).finish(now, answer)

    def set_crawl_delay(self, home: str, seconds: float) -> None:
        """robots.txt asks for this pause between two requests."""
        if home != self._folder:
            self._of(home).crawl_delay(seconds)

    def gap(self, url: Url) -> float:
        """Seconds between two requests to the origin of a URL that are our own pace: rate, delay or Crawl-delay."""
        return self._of(origin(url)).gap

    def is_asked(self, now: float) -> bool:
        """Whether some origin has named the time before which nothing starts there."""
        return any(lane.asked_until > now for lane in self._lanes.values())

    def is_stuck(self) -> bool:
        """Whether waiting has been in vain at some origin several times in a row."""
        return any(lane.is_stuck for lane in self._lanes.values())

    def all_down(self) -> bool:
        """Every origin has stopped answering."""
        return bool(self._lanes) and all(lane.down for lane in self._lanes.values())

    def _of(self, home: str) -> Lane:
        lane = self._lanes.get(home)
        if lane is None:
            pace = Pace(self._pace.concurrency, 0, 0) if home == self._folder else self._pace
            lane = self._lanes[home] = Lane(pace)
        return lane
