"""Counts the requests of one log and makes claims from the counts, in flat memory."""

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import nsmallest
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

_MAX_ADDRESSES: Final = 50_000  # in memory
_SAMPLE_STEP: Final = 4  # of the rows, one in so many counts for the successes of its address
MAX_VISITORS: Final = 64
"""Visitors of one target whose errors are counted.

Of more, those with the least numbers, mixed with that of the target, are the sample: the same in whatever order the
lines are counted.
"""
MAX_READERS: Final = 8
"""Visitors of one target who got a response, and are known one by one. With more, they are no scanners alone."""
_ADDRESS_MASK: Final = 2**31 - 1  # SQLite's integers have a sign
_VISITORS_SIZE: Final = 400  # bytes of those of a target, roughly
_SLOTS: Final = 2**20  # of the requests by address

_UNANSWERED: Final = frozenset({0, 444, 499})  # no answer, or the client had gone: no evidence about the URL


RequestKey = tuple[str, str, str, int]
"""The first and the last day of a target, the day of its newest answer, and the status of that."""

_MAX_CLEANED: Final = 4_096  # targets in a cache
_MAX_CLEANED_LENGTH: Final = 1_000  # bytes of a target
_port = re.compile(rb":\d*+$")
# A query that canonical form leaves as it is, but for the parameters that are dropped.
_plain_query = re.compile(rb"[A-Za-z0-9._~!$&()*+,;=:@/?-]*+").fullmatch


class RequestCount(Struct, gc=False):
    """The requests for one target. ``packed`` has all counts in one number, 32 bits each, by their places.

    One addition for each line is faster than several, and a table of bots for each target would take most of the
    memory. The garbage collector skips these objects. ``status`` is that of the newest answer, on day ``answered``.
    ``visitors`` counts the errors of people, by visitor: the number of the address in the upper 31 bits, that of the
    agent in the lower 32 bits. ``is_own``: the site has a URL like the target; see :class:`OwnTargets`. ``turn`` is the
    place in the log of the block with the newest answer: blocks of one log are counted in any order. ``mixer`` mixes
    the numbers of visitors; ``bound`` is the greatest mixed number of a whole sample, -1: not known. ``readers`` are
    the visitors who got no error, None: more than :data:`MAX_READERS`.
    """

    last: str = ""
    first: str = ""
    answered: str = ""
    status: int = 0
    packed: int = 0
    visitors: dict[int, int] | None = None
    is_own: bool = True
    turn: int = 0
    mixer: int = 0
    bound: int = -1
    readers: tuple[int, ...] | None = ()

    @property
    def requests(self) -> int:
        """The number of all requests."""
        return (self.packed & COUNT_MASK) + (self.packed >> BOTS * COUNT_BITS & COUNT_MASK)

    @property
    def key(self) -> RequestKey:
        """Its days and its status."""
        return self.first, self.last, self.answered, self.status

    def read_by(self, readers: tuple[int, ...] | None) -> None:
        """Add visitors who got no error."""
        if self.readers is not None:
            both = None if readers is None else tuple(dict.fromkeys((*self.readers, *readers)))
            self.readers = None if both is None or len(both) > MAX_READERS else both

    def add(
        self, key: RequestKey, packed: int, turn: int, visitors: dict[int, int] | None, readers: tuple[int, ...] | None
    ) -> None:
        """Add requests that were counted apart: by another process, or for another target of the same URL.

        ``key`` and ``turn`` describe them. Of two answers on the same day, that of the later turn is the newer one.
        """
        first, last, answered, status = key
        self.packed += packed
        self.read_by(readers)
        if visitors:
            self.visitors = _add_up(self.visitors or {}, visitors, self.mixer)
            self.bound = -1
        if last != self.last or first != self.first:
            self.first = min(self.first or first, first or self.first)
            self.last = max(self.last, last)
        if status and (answered > self.answered or (answered == self.answered and turn >= self.turn)):
            self.status, self.answered, self.turn = status, answered, turn


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
    host, _, path = target.rpartition(b" ")
    if not path.startswith(b"/") and b"://" in path:
        host, _, path = path.partition(b"://")[2].partition(b"/")
        path = b"/" + path
    return _port.sub(b"", host.lower()).removesuffix(b"."), path


class PackedCounts(Struct, array_like=True, frozen=True):
    """Counted lines as columns: targets, their counts as bytes, their turns, and the index of their days in ``seen``.

    ``visitors`` are those of the targets that have any, by index. ``successes`` are the numbers of addresses and their
    successful requests, as two arrays of 32 bits. ``bots`` are the requests of bots for the site: day, name, status and
    number. ``days`` are all days of the lines.
    """

    names: list[str]
    targets: list[bytes]
    packed: list[bytes]
    turns: list[int]
    which: list[int]
    seen: list[RequestKey]
    visitors: dict[int, dict[int, int]]
    readers: list[tuple[int, ...] | None]
    successes: tuple[bytes, bytes]
    bots: list[tuple[str, str, int, int]]
    days: list[str]
    beside: int
    ours: int


class RequestCounts:
    """Counts rows, and adds the counts of other processes. ``names`` are the bots by their places in counts.

    ``turn`` is the place of the rows to count in the log: blocks may be counted in any order.
    ``successes`` gets some of the successful requests by address; without it, :meth:`take` returns all of them.
    ``size`` are the bytes of all targets. ``beside`` counts requests for no page, ``ours`` those by our own crawler.
    ``bots`` gets the requests of bots for ``own`` targets.
    """

    def __init__(
        self,
        *,
        has_agents: bool,
        own: OwnTargets,
        successes: "AddressCounts | None" = None,
        bots: BotLedger | None = None,
    ) -> None:
        self.targets: dict[bytes, RequestCount] = {}
        self.names: list[str] = []
        self.turn = 0
        self.size = self.beside = self.ours = 0
        self.bots = BotLedger() if bots is None else bots
        self.own = own
        self._clean = lru_cache(_MAX_CLEANED)(own.clean)
        self._visits: defaultdict[str, defaultdict[tuple[str, int], int]] = defaultdict(lambda: defaultdict(int))
        self._has_agents = has_agents
        self._days = DayCache()
        self._agents: dict[bytes, dict[bytes, Answer]] = {}
        self._people: dict[bytes, Answer] = {b"": (1 << PEOPLE * COUNT_BITS, 0, None)}
        self._answers: dict[str, dict[bytes, Answer]] = {OUR_BOT: _OURSELVES, "": self._people}
        self._addresses = Counter[bytes]()
        self._successes = successes

    def add(self, rows: list[LogRow]) -> None:  # noqa: C901, PLR0912 - calls would cost more than the counting
        """Count the requests of a block of lines. A long log spends its time here."""
        self._addresses.update([row[0] for row in rows[::_SAMPLE_STEP] if row[3] < b"4"])
        if self._successes and self.has_many_addresses:
            self._successes.add(*self._take_addresses())
        counts, agents, turn = self.targets, self._agents, self.turn
        last_when, day, beside, ours = b"", "", 0, 0
        hour, zone = b"", b"none"  # of the last common time: the day is the same
        visits = self._visits[day]
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
                    visits = self._visits[day]
            if mark and count.is_own:
                visits[mark] += 1
            if day != count.last:
                if day < count.last:
                    if day:
                        count.first = min(count.first, day)
                else:
                    count.first, count.last = count.first or day, day
            if status and day >= count.answered:
                count.status, count.answered, count.turn = status, day, turn
        self.beside += beside
        self.ours += ours

    @property
    def has_many_addresses(self) -> bool:
        """Whether it is time to take the addresses of successful requests."""
        return len(self._addresses) > _MAX_ADDRESSES

    def _count_of(self, target: bytes) -> RequestCount:
        """The count of a target that has none, or needs cleaning."""
        if b"?" in target:
            target = self._clean(target)
            if count := self.targets.get(target):
                return count
        return self._new(target)

    def _new(self, target: bytes) -> RequestCount:
        self.size += len(target)
        mixer = crc32(target) << 31  # in the bits of the address
        count = self.targets[target] = RequestCount(is_own=self.own.has(target), mixer=mixer)
        return count

    def _count_visits(self) -> None:
        """Add the requests of bots so far to ``bots``."""
        for day, visits in self._visits.items():
            for (name, status), requests in visits.items():
                self.bots.add(day, name, status, requests)
        self._visits.clear()
        self.bots.days |= self._days.days

    def _add_visitor(self, count: RequestCount, visitor: int) -> None:
        visitors = count.visitors
        if visitors is None:
            visitors = count.visitors = {}
            self.size += _VISITORS_SIZE
        if visitor in visitors:
            visitors[visitor] += 1
        elif len(visitors) < MAX_VISITORS:
            visitors[visitor] = 1
        elif count.bound < 0 or visitor ^ count.mixer < count.bound:
            visitors[visitor] = 1
            del visitors[max(visitors, key=count.mixer.__xor__)]
            count.bound = max(map(count.mixer.__xor__, visitors))

    def add_counted(self, counted: PackedCounts) -> None:
        """Add the counts of another process."""
        self.beside += counted.beside
        self.ours += counted.ours
        places = [self._place(name) for name in counted.names]
        same = next((index for index, place in enumerate(places) if index != place), len(places))
        moved = (FIRST_BOT + same) * COUNT_BITS  # the counts from here on have other places
        counts = self.targets
        if self._successes:
            self._successes.add(*counted.successes)
        self.bots.days.update(counted.days)
        for visits in counted.bots:
            self.bots.add(*visits)
        columns = zip(counted.targets, counted.packed, counted.turns, counted.which, strict=True)
        for index, (target, packed, turn, which) in enumerate(columns):
            many = int.from_bytes(packed, "little")
            if many >> moved:
                many = _reorder(many, places)
            count = counts.get(target) or self._new(target)
            visitors = counted.visitors.get(index)
            self.size += _VISITORS_SIZE * bool(visitors and not count.visitors)
            count.add(counted.seen[which], many, turn, visitors, counted.readers[index])

    def begin(self, names: Sequence[str]) -> None:
        """Give the bots the places that these names have. There are no counts yet."""
        if any(own != name for own, name in zip(self.names, names, strict=False)):
            self.names.clear()
            self._agents.clear()
            self._answers = {OUR_BOT: _OURSELVES, "": self._people}
        for name in names:
            self._place(name)

    def take(self) -> PackedCounts:
        """The counts so far; begins new ones."""
        counts = self.targets.values()
        table: dict[RequestKey, int] = {}
        self._count_visits()
        packed = PackedCounts(
            names=self.names,
            targets=list(self.targets),
            packed=[count.packed.to_bytes((count.packed.bit_length() + 7) // 8, "little") for count in counts],
            turns=[count.turn for count in counts],
            which=[table.setdefault(count.key, len(table)) for count in counts],
            seen=list(table),
            visitors={index: count.visitors for index, count in enumerate(counts) if count.visitors},
            readers=[count.readers for count in counts],
            successes=self._take_addresses(),
            bots=[(*key, requests) for key, requests in self.bots.requests.items()],
            days=sorted(self.bots.days),
            beside=self.beside,
            ours=self.ours,
        )
        self.targets, self.size, self.beside, self.ours = {}, 0, 0, 0
        self.bots = BotLedger()
        return packed

    def finish(self) -> None:
        """Add the remaining addresses to ``successes`` and requests to ``bots``, at the end of the log."""
        if self._successes:
            self._successes.add(*self._take_addresses())
        self._count_visits()

    def _take_addresses(self) -> tuple[bytes, bytes]:
        """The numbers of the addresses and their new successful requests, as arrays of 32 bits; begins new counts."""
        numbers, counts = array("I", map(crc32, self._addresses)), array("I", self._addresses.values())
        self._addresses.clear()
        return numbers.tobytes(), counts.tobytes()

    def _place(self, name: str) -> int:
        """The index of a bot among the counts of bots."""
        if name not in self._answers:
            place = FIRST_BOT + len(self.names)
            self.names.append(name)
            self._answers[name] = {b"": ((1 << BOTS * COUNT_BITS) + (1 << place * COUNT_BITS), 0, (name, 0))}
        return self.names.index(name)

    def _answers_of(self, agent: bytes) -> dict[bytes, Answer]:
        """The counts that a request of an agent adds, by the status of the answer; see :meth:`_answer`."""
        if len(self._agents) >= _MAX_AGENTS:
            self._agents.clear()
        name = bot_name(agent[:_MAX_AGENT_LENGTH].decode("utf-8", "replace")) if self._has_agents else ""
        if name and name != OUR_BOT:
            self._place(name)
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


class AddressCounts:
    """Successful requests by address, in constant memory. Addresses that share a slot have the sum of their requests.

    It takes one of ``_SAMPLE_STEP`` requests: they tell a person from a scanner, who has next to none.
    """

    def __init__(self) -> None:
        self._slots = array("I", bytes(4 * _SLOTS))

    def add(self, numbers: bytes, requests: bytes) -> None:
        """Add the requests of some addresses: their numbers and their requests, as arrays of 32 bits."""
        slots = self._slots
        for number, count in zip(array("I", numbers), array("I", requests), strict=True):
            slots[number % _SLOTS] += count * _SAMPLE_STEP

    def get(self, visitor: int) -> int:
        """The requests from the address of a visitor, roughly."""
        return self._slots[(visitor >> 32) % _SLOTS]


def _add_up(one: dict[int, int], other: dict[int, int], mixer: int) -> dict[int, int]:
    """The visitors of both, as far as they are counted."""
    both = one | {visitor: one.get(visitor, 0) + count for visitor, count in other.items()}
    if len(both) <= MAX_VISITORS:
        return both
    return {visitor: both[visitor] for visitor in nsmallest(MAX_VISITORS, both, key=mixer.__xor__)}


def _reorder(many: int, places: list[int]) -> int:
    """The counts with those of the bots moved to other places."""
    moved = many & (1 << FIRST_BOT * COUNT_BITS) - 1
    packed = many >> FIRST_BOT * COUNT_BITS
    for place in places:
        moved += (packed & COUNT_MASK) << (FIRST_BOT + place) * COUNT_BITS
        packed >>= COUNT_BITS
    return moved


MAX_TARGETS: Final = 140_000
"""Different targets that are counted at a time."""
_MAX_TARGET_BYTES: Final = 24 * 2**20  # bytes of all of them
_NO_AGENTS: Final[dict[str, int]] = {}


class LogClaimBuilder:
    """Makes claims from ``counts``, and updates the ``report`` of the source.

    Values of parameters that look like secrets are masked, unless ``keep_tokens``: visitors make these URLs.
    """

    def __init__(
        self,
        addresses: SourceUrlParser,
        report: SourceReport,
        counts: RequestCounts,
        most: int = MAX_TARGETS,
        *,
        keep_tokens: bool = False,
    ) -> None:
        self._keep_tokens = keep_tokens
        self.counts = counts
        self._addresses = addresses
        self._report = report
        self._most = most
        self.masked = 0  # requests for URLs with a masked value
        self.hosts: dict[str, int] = {}

    @property
    def is_full(self) -> bool:
        """Whether it is time to take the claims."""
        return len(self.counts.targets) >= self._most or self.counts.size >= _MAX_TARGET_BYTES

    def take_all(self) -> Iterator[SourceRecord]:
        """The claims of all remaining counts, at the end of the log."""
        self._report.beside += self.counts.beside
        targets = self.counts.targets
        yield from self._claims((target, targets.pop(target)) for target in sorted(targets))

    def take_rarest(self) -> Iterator[SourceRecord]:
        """The claims of the less requested half of the targets; the others stay in memory."""
        targets, limit = self.counts.targets, 1
        while len(rare := [key for key, count in targets.items() if count.requests <= limit]) * 2 < len(targets):
            limit *= 2
        yield from self._claims((target, self._pop(target)) for target in sorted(rare))

    def _pop(self, target: bytes) -> RequestCount:
        count = self.counts.targets.pop(target)
        self.counts.size -= len(target) + (_VISITORS_SIZE if count.visitors else 0)
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
                total.add(count.key, count.packed, count.turn, count.visitors, count.readers)
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
            turn=count.turn,
            agents=agents,
            visitors=dict.fromkeys((-1,) if count.readers is None else count.readers, 0) | (count.visitors or {}),
        )

    def _by_name(self, packed: int) -> dict[str, int]:
        if not packed:
            return _NO_AGENTS
        counts = ((name, packed >> place * COUNT_BITS & COUNT_MASK) for place, name in enumerate(self.counts.names))
        return {name: count for name, count in counts if count}

    def _url(self, target: bytes, requests: int) -> Url | RejectReason:
        host, path = _host_and_path(target)
        if not host or host in self.counts.own.hosts:
            return self._addresses.parse(target_text(path))
        name = target_text(host)
        url = self._addresses.parse(f"http://{name}{target_text(path)}")
        if url is RejectReason.FOREIGN and (name in self.hosts or len(self.hosts) < 1_000):
            self.hosts[name] = self.hosts.get(name, 0) + requests
        return url
