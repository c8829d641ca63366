"""Counts the requests of one log and makes claims from the counts, in flat memory."""

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final
from zlib import crc32

from msgspec import Struct

from crawler.audit.source_record import SourceRecord, SourceReport
from crawler.audit.sources.logs.bots import OUR_BOT, SEARCH_ENGINES, BotLedger, bot_name
from crawler.audit.sources.logs.fields import DayCache, LogRow, request_target, target_text
from crawler.audit.sources.urls import RejectReason, SourceUrlParser
from crawler.model import Url
from crawler.url.params import UrlParams, clean_query
from crawler.url.secrets import mask_private

_MAX_AGENTS: Final = 10_000  # agents in the cache
_MAX_AGENT_LENGTH: Final = 1_000  # bytes of an agent that is cached, and of a longer one that are examined
COUNT_BITS: Final = 32  # of one count
COUNT_MASK: Final = 2**COUNT_BITS - 1
# the places of the counts; those of each bot follow
PEOPLE, BOTS, OK, MOVED, DEAD, FIRST_BOT = range(6)

Answer = tuple[int, int, tuple[str, int] | None]
"""The counts that a request adds, the status of its response (0: none), and bot and status, None: no bot."""

_OURSELVES: Final[dict[bytes, Answer]] = {}

_SAMPLE_STEP: Final = 4  # of the rows, one in so many counts for the successes of its address
MAX_VISITORS: Final = 64
"""Visitors of one target whose errors are counted: of more, the first ones are the sample."""
MAX_READERS: Final = 8
"""Visitors of one target who got a response, and are known one by one. With more, they are no scanners alone."""
_ADDRESS_MASK: Final = 2**31 - 1  # SQLite's integers have a sign
_VISITORS_SIZE: Final = 400  # bytes of those of a target, roughly
_SLOTS: Final = 2**20  # of the requests by address

_UNANSWERED: Final = frozenset({0, 444, 499})  # no answer, or the client had gone: no evidence about the URL
_MAX_CLEANED: Final = 4_096  # targets in a cache
_MAX_CLEANED_LENGTH: Final = 1_000  # bytes of a target
_port = re.compile(rb":\d*+$")
# A query that canonical form leaves as it is, but for the parameters that are dropped.
_plain_query = re.compile(rb"[A-Za-z0-9._~!$&()*+,;=:@/?-]*+").fullmatch


class RequestCount(Struct, gc=False):
    """The requests for one target. ``packed`` has all counts in one number, 32 bits each, by their places.

    One addition for each line is faster than several, and a table of bots for each target would take most of the
    memory. The garbage collector skips these objects. ``status`` is that of the newest answer, on day ``answered``;
    of several on that day, of any.
    ``visitors`` counts the errors of people, by visitor: the number of the address in the upper 31 bits, that of the
    agent in the lower 32 bits. ``is_own``: the site has a URL like the target; see :class:`OwnTargets`. ``readers``
    are the visitors who got no error, None: more than :data:`MAX_READERS`.
    """

    last: str = ""
    first: str = ""
    answered: str = ""
    status: int = 0
    packed: int = 0
    visitors: dict[int, int] | None = None
    is_own: bool = True
    readers: tuple[int, ...] | None = ()

    @property
    def requests(self) -> int:
        """The number of all requests."""
        return (self.packed & COUNT_MASK) + (self.packed >> BOTS * COUNT_BITS & COUNT_MASK)

    def read_by(self, readers: tuple[int, ...] | None) -> None:
        """Add visitors who got no error."""
        if self.readers is not None:
            both = None if readers is None else tuple(dict.fromkeys((*self.readers, *readers)))
            self.readers = None if both is None or len(both) > MAX_READERS else both

    def add(self, other: "RequestCount") -> None:
        """Add the requests for another target of the same URL."""
        self.packed += other.packed
        self.read_by(other.readers)
        if other.visitors:
            both = Counter(self.visitors or {}) + Counter(other.visitors)
            self.visitors = dict(islice(both.items(), MAX_VISITORS))
        self.first = min(self.first or other.first, other.first or self.first)
        self.last = max(self.last, other.last)
        if other.status and other.answered >= self.answered:
            self.status, self.answered = other.status, other.answered


class OwnTargets(Struct, array_like=True, frozen=True):
    """The targets that are of the site: those on its ``hosts``, or without a host, below the path ``prefix``.

    ``params`` are those of its canonical URLs.
    """

    hosts: list[bytes] = []
    prefix: bytes = b"/"
    params: UrlParams = UrlParams()

    def clean(self, target: bytes) -> bytes:
        """The target without the parameters that are dropped, if it has the same canonical URL, else as it is.

        Each link in an advertisement has an ID of its own, so a log may have more of these targets than pages.
        """
        path, mark, query = target.partition(b"?")
        if not mark or self.params.mirror or len(target) > _MAX_CLEANED_LENGTH or not _plain_query(query):
            return target
        left = clean_query(query.decode("ascii"), self.params).encode("ascii")
        return b"%s?%s" % (path, left) if left else path

    def has(self, target: bytes) -> bool:
        """Whether a target is one: a path, ``host path``, or an absolute URL after either."""
        host, path = _host_and_path(target)
        return (not host or host in self.hosts) and path.startswith(self.prefix)


def _host_and_path(target: bytes) -> tuple[bytes, bytes]:
    """The host of a target, b"" without one, and its path: of a path, ``host path``, or an absolute URL after either.

    The host comes without its port: nginx logs $host without one, and a server behind a proxy logs its own.
    """
    if target.startswith(b"/"):
        return b"", target
    host, _, path = target.rpartition(b" ")
    if not path.startswith(b"/") and b"://" in path:
        host, _, path = path.partition(b"://")[2].partition(b"/")
        path = b"/" + path
    return _port.sub(b"", host.lower()).removesuffix(b"."), path


MAX_TARGETS: Final = 140_000
"""Different targets that are counted at a time."""
_MAX_TARGET_BYTES: Final = 24 * 2**20  # bytes of all of them
_NO_AGENTS: Final[dict[str, int]] = {}


class RequestCounts:
    """Counts the rows of one log, and makes claims from the counts. Updates the ``report`` of the source.

    ``most`` limits the targets in memory. ``ours`` counts the requests by our own crawler, ``masked`` those for URLs
    with a masked value: values that look like secrets are, unless ``keep_tokens``, because visitors make these URLs.
    ``hosts`` counts the requests for other sites. The ``tables`` get some of the successful requests by address, and
    the requests of bots for the site.
    """

    def __init__(
        self,
        addresses: SourceUrlParser,
        report: SourceReport,
        tables: tuple["AddressCounts", BotLedger],
        *,
        most: int,
        keep_tokens: bool,
        has_agents: bool,
    ) -> None:
        self.hosts: dict[str, int] = {}
        self.ours = self.masked = 0
        self._addresses = addresses
        self._own = OwnTargets(*addresses.own_paths())
        self._report = report
        self._successes, self._bots = tables
        self._most = most
        self._keep_tokens = keep_tokens
        self._targets: dict[bytes, RequestCount] = {}
        self._size = 0  # bytes of all targets
        self._names: list[str] = []  # of bots, by their places in counts
        self._clean = lru_cache(_MAX_CLEANED)(self._own.clean)
        self._has_agents = has_agents
        self._days = DayCache()
        self._agents: dict[bytes, dict[bytes, Answer]] = {}
        self._people: dict[bytes, Answer] = {b"": (1 << PEOPLE * COUNT_BITS, 0, None)}
        self._answers: dict[str, dict[bytes, Answer]] = {OUR_BOT: _OURSELVES, "": self._people}

    def add(self, rows: list[LogRow]) -> None:  # noqa: C901, PLR0912 - calls would cost more than the counting
        """Count the requests of a block of lines. A long log spends its time here."""
        self._successes.add(Counter([row[0] for row in rows[::_SAMPLE_STEP] if row[3] < b"4"]))
        counts, agents = self._targets, self._agents
        last_when, day, beside, ours = b"", "", 0, 0
        hour, zone = b"", b"none"  # of the last common time: the day is the same
        by_day: defaultdict[str, defaultdict[tuple[str, int], int]] = defaultdict(lambda: defaultdict(int))
        visits = by_day[day]
        for address, when, plain_target, state, agent, host, request in rows:
            target = plain_target or request_target(request or b"")
            answers = agents.get(agent)
            if answers is None:
                answers = self._answers_of(agent)
            if target is None or answers is _OURSELVES:
                beside += 1
                ours += answers is _OURSELVES
                continue
            if host and host != b"-":
                target = host + b" " + target
            count = counts.get(target) or self._count_of(target)
            many, status, mark = answers.get(state) or self._answer(answers, state)
            count.packed += many
            if (status >= 400 or count.readers is not None) and answers is self._people and address:
                visitor = (crc32(address) & _ADDRESS_MASK) << 32 | crc32(agent)
                if status >= 400:
                    self._add_visitor(count, visitor)
                elif visitor not in count.readers:  # type: ignore[operator]
                    count.read_by((visitor,))
            if when != last_when:
                last_when = when
                if when[:14] != hour or when[20:] != zone:
                    hour, zone = (when[:14], when[20:]) if when[2:3] == b"/" else (b"", b"none")
                    day = self._days.day(when)
                    visits = by_day[day]
            if mark and count.is_own:
                visits[mark] += 1
            if day != count.last:
                if day < count.last:
                    if day:
                        count.first = min(count.first, day)
                else:
                    count.first, count.last = count.first or day, day
            if status and day >= count.answered:
                count.status, count.answered = status, day
        self._report.beside += beside
        self.ours += ours
        self._bots.days |= self._days.days
        for day, visits in by_day.items():
            for (name, status), requests in visits.items():
                self._bots.add(day, name, status, requests)

    def _count_of(self, target: bytes) -> RequestCount:
        """The count of a target that has none, or needs cleaning."""
        if b"?" in target:
            target = self._clean(target)
            if count := self._targets.get(target):
                return count
        self._size += len(target)
        count = self._targets[target] = RequestCount(is_own=self._own.has(target))
        return count

    def _add_visitor(self, count: RequestCount, visitor: int) -> None:
        visitors = count.visitors
        if visitors is None:
            visitors = count.visitors = {}
            self._size += _VISITORS_SIZE
        if visitor in visitors or len(visitors) < MAX_VISITORS:
            visitors[visitor] = visitors.get(visitor, 0) + 1

    def _answers_of(self, agent: bytes) -> dict[bytes, Answer]:
        """The counts that a request of an agent adds, by the status of the answer; see :meth:`_answer`."""
        if len(self._agents) >= _MAX_AGENTS:
            self._agents.clear()
        name = bot_name(agent[:_MAX_AGENT_LENGTH].decode("utf-8", "replace")) if self._has_agents else ""
        if name not in self._answers:
            place = FIRST_BOT + len(self._names)
            self._names.append(name)
            self._answers[name] = {b"": ((1 << BOTS * COUNT_BITS) + (1 << place * COUNT_BITS), 0, (name, 0))}
        answers = self._answers[name]
        if len(agent) <= _MAX_AGENT_LENGTH:
            self._agents[agent] = answers
        return answers

    def _answer(self, answers: dict[bytes, Answer], state: bytes) -> Answer:
        number = int(state) if state.isdigit() and len(state) == 3 else 0
        status = 0 if number in _UNANSWERED or number < 200 else number
        many, _, bot = answers[b""]
        if 200 <= status < 300 or status == 304:
            many += 1 << OK * COUNT_BITS
        elif status >= 400:
            many += 1 << DEAD * COUNT_BITS
        elif status:
            many += 1 << MOVED * COUNT_BITS
        answer = many, status, bot and (bot[0], status)
        if len(state) <= 3 and len(answers) < 1_000:
            answers[state] = answer
        return answer

    @property
    def is_full(self) -> bool:
        """Whether it is time to take the claims."""
        return len(self._targets) >= self._most or self._size >= _MAX_TARGET_BYTES

    def take_all(self) -> Iterator[SourceRecord]:
        """The claims of all remaining counts, at the end of the log."""
        targets = self._targets
        yield from self._claims((target, targets.pop(target)) for target in sorted(targets))

    def take_rarest(self) -> Iterator[SourceRecord]:
        """The claims of the less requested half of the targets; the others stay in memory."""
        targets, limit = self._targets, 1
        while len(rare := [key for key, count in targets.items() if count.requests <= limit]) * 2 < len(targets):
            limit *= 2
        yield from self._claims((target, self._pop(target)) for target in sorted(rare))

    def _pop(self, target: bytes) -> RequestCount:
        count = self._targets.pop(target)
        self._size -= len(target) + (_VISITORS_SIZE if count.visitors else 0)
        return count

    def _claims(self, counted: Iterable[tuple[bytes, RequestCount]]) -> Iterator[SourceRecord]:
        """The claims of targets that come sorted, because SQLite inserts sorted rows in two thirds of the time.

        Neighbors with the same URL become one claim, because a sum costs less than a row. Many targets differ only in
        click IDs.
        """
        last, total = Url(""), RequestCount()
        for target, count in counted:
            url = self._accepted(target, count.requests)
            if url is None:
                continue
            if url == last:
                total.add(count)
                continue
            if last:
                yield self._claim(last, total)
            last, total = url, count
        if last:
            yield self._claim(last, total)

    def _accepted(self, target: bytes, requests: int) -> Url | None:
        """The URL of a target, None if it is not of the site. Counts its requests in the report."""
        report = self._report
        url = self._url(target, requests)
        if url is RejectReason.FOREIGN:
            report.foreign += requests
            return None
        if isinstance(url, RejectReason):
            report.beside += requests
            return None
        report.used += requests
        report.hostless += requests * target.startswith(b"/")
        shown = url if self._keep_tokens else Url(mask_private(url))
        self.masked += requests * (shown != url)
        return shown

    def _claim(self, url: Url, count: RequestCount) -> SourceRecord:
        report, many = self._report, count.packed
        if count.last:
            report.first = min(report.first or count.first, count.first)
            report.last = max(report.last, count.last)
        agents = self._by_name(many >> FIRST_BOT * COUNT_BITS)
        return SourceRecord(
            url=url,
            first=count.first,
            last=count.last,
            people=many & COUNT_MASK,
            bots=many >> BOTS * COUNT_BITS & COUNT_MASK,
            engines=sum(of for name, of in agents.items() if name in SEARCH_ENGINES) if agents else 0,
            ok=many >> OK * COUNT_BITS & COUNT_MASK,
            moved=many >> MOVED * COUNT_BITS & COUNT_MASK,
            dead=many >> DEAD * COUNT_BITS & COUNT_MASK,
            status=count.status,
            agents=agents,
            visitors=dict.fromkeys((-1,) if count.readers is None else count.readers, 0) | (count.visitors or {}),
        )

    def _by_name(self, packed: int) -> dict[str, int]:
        if not packed:
            return _NO_AGENTS
        counts = ((name, packed >> place * COUNT_BITS & COUNT_MASK) for place, name in enumerate(self._names))
        return {name: count for name, count in counts if count}

    def _url(self, target: bytes, requests: int) -> Url | RejectReason:
        host, path = _host_and_path(target)
        if not host or host in self._own.hosts:
            return self._addresses.parse(target_text(path))
        name = target_text(host)
        url = self._addresses.parse(f"http://{name}{target_text(path)}")
        if url is RejectReason.FOREIGN and (name in self.hosts or len(self.hosts) < 1_000):
            self.hosts[name] = self.hosts.get(name, 0) + requests
        return url


class AddressCounts:
    """Successful requests by address, in constant memory. Addresses that share a slot have the sum of their requests.

    It takes one of ``_SAMPLE_STEP`` requests: they tell a person from a scanner, who has next to none.
    """

    def __init__(self) -> None:
        self._slots = array("I", bytes(4 * _SLOTS))

    def add(self, requests: Counter[bytes]) -> None:
        """Add the requests of some addresses."""
        for address, count in requests.items():
            self._slots[crc32(address) % _SLOTS] += count * _SAMPLE_STEP

    def get(self, visitor: int) -> int:
        """The requests from the address of a visitor, roughly."""
        return self._slots[(visitor >> 32) % _SLOTS]
