"""Makes claims of the counts of one log, in flat memory: what is too much is handed on and counted anew."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from crawler.audit.claim import SourceRecord, SourceReport
from crawler.audit.sources.logs.bots import OUR_BOT, SEARCH_ENGINES, bot_name
from crawler.audit.sources.logs.fields import DayCache, LogRow, request_target, target_text
from crawler.audit.sources.urls import RejectReason, SourceUrlParser
from crawler.model import Url

_MAX_AGENTS: Final = 10_000

_MAX_AGENT_LENGTH: Final = 1_000  # bytes of an agent that is remembered, and of it what is looked at

COUNT_BITS: Final = 32  # of one count

COUNT_MASK: Final = 2**COUNT_BITS - 1

# the places of counts; those of each bot come after them
PEOPLE, BOTS, OK, MOVED, DEAD, FIRST_BOT = range(6)

_OURSELVES: Final[dict[bytes, tuple[int, int]]] = {}

_UNANSWERED: Final = frozenset(
    {0, 444, 499}
)  # the client had gone, or got nothing: this says nothing of the URL

RequestKey = tuple[str, str, str, int]

"""Of one thing: the first day, the last, that of the newest answer, and the status of this."""


class RequestCount(Struct, gc=False):
    """The requests for one thing. ``many`` has all counts in one number, 32 bits for each, by their places.

    One addition for a line is quicker than several, and a table of bots apiece would take most of the memory. The
    garbage collector need not look at so many of them. ``status`` is that of the newest answer, on the day
    ``answered``.
    """

    last: str = ""
    first: str = ""
    answered: str = ""
    status: int = 0
    packed: int = 0

    @property
    def requests(self) -> int:
        """All of them."""
        return (self.packed & COUNT_MASK) + (self.packed >> BOTS * COUNT_BITS & COUNT_MASK)


class PackedCounts(Struct, array_like=True, frozen=True):
    """What some lines came to: columns of things, of their counts as bytes, and of where in ``seen`` their days are."""

    names: list[str]
    targets: list[bytes]
    packed: list[bytes]
    which: list[int]
    seen: list[RequestKey]
    beside: int
    ours: int


class RequestCounts:
    """Counts rows, and what others counted of the rows after them. ``names`` are the bots by their places in counts.

    ``size`` are the bytes of all things, ``beside`` requests that ask for no page, ``ours`` those of them by ourselves.
    """

    def __init__(self, *, has_agents: bool) -> None:
        self.targets: dict[bytes, RequestCount] = {}
        self.names: list[str] = []
        self.size = self.beside = self.ours = 0
        self._has_agents = has_agents
        self._days = DayCache()
        self._agents: dict[bytes, dict[bytes, tuple[int, int]]] = {}
        self._answers: dict[str, dict[bytes, tuple[int, int]]] = {OUR_BOT: _OURSELVES}

    def add(self, rows: list[LogRow]) -> None:  # noqa: C901 - calls would cost more than the counting
        """Count the requests of a block of lines. This is where a long log spends its time."""
        counts, agents = self.targets, self._agents
        written, day, beside, ours = b"", "", 0, 0
        for _, when, asked, state, agent, host, request in rows:
            thing = asked or request_target(request or b"")
            answers = agents.get(agent)
            if answers is None:
                answers = self._answers_of(agent)
            if thing is None or answers is _OURSELVES:
                beside += 1
                ours += answers is _OURSELVES
                continue
            if host and host != b"-":
                thing = host + b" " + thing
            count = counts.get(thing)
            if count is None:
                count = counts[thing] = RequestCount()
                self.size += len(thing)
            many, status = answers.get(state) or self._answer(answers, state)
            count.packed += many
            if when != written:
                written, day = when, self._days.day(when)
            if day != count.last:
                if day < count.last:
                    if day:
                        count.first = min(count.first, day)
                else:
                    count.first, count.last = count.first or day, day
            if status and day >= count.answered:
                count.status, count.answered = status, day
        self.beside += beside
        self.ours += ours

    def add_counted(self, counted: PackedCounts) -> None:
        """Add what others counted of the rows after those that were added so far."""
        self.beside += counted.beside
        self.ours += counted.ours
        places = [self._place(name) for name in counted.names]
        is_same = places == list(range(len(places)))
        counts = self.targets
        for thing, packed, which in zip(counted.targets, counted.packed, counted.which, strict=True):
            many = int.from_bytes(packed, "little")
            if not is_same and many >> FIRST_BOT * COUNT_BITS:
                many = _reorder(many, places)
            first, last, answered, status = counted.seen[which]
            count = counts.get(thing)
            if count is None:
                counts[thing] = RequestCount(last, first, answered, status, many)
                self.size += len(thing)
                continue
            count.packed += many
            if last != count.last or first != count.first:
                count.first = min(count.first or first, first or count.first)
                count.last = max(count.last, last)
            if status and answered >= count.answered:
                count.status, count.answered = status, answered

    def begin(self, names: Sequence[str]) -> None:
        """Forget everything that was counted, and have the bots at the places that these names have."""
        self.targets, self.size, self.beside, self.ours = {}, 0, 0, 0
        if any(own != name for own, name in zip(self.names, names, strict=False)):
            self.names.clear()
            self._agents.clear()
            self._answers = {OUR_BOT: _OURSELVES}
        for name in names:
            self._place(name)

    def counted(self) -> PackedCounts:
        """What was counted."""
        counts = self.targets.values()
        table: dict[RequestKey, int] = {}
        return PackedCounts(
            names=self.names,
            targets=list(self.targets),
            packed=[
                count.packed.to_bytes((count.packed.bit_length() + 7) // 8, "little") for count in counts
            ],
            which=[
                table.setdefault((count.first, count.last, count.answered, count.status), len(table))
                for count in counts
            ],
            seen=list(table),
            beside=self.beside,
            ours=self.ours,
        )

    def _place(self, name: str) -> int:
        """Which of the counts of bots is this one's."""
        if name not in self._answers:
            place = FIRST_BOT + len(self.names)
            self.names.append(name)
            self._answers[name] = {b"": ((1 << BOTS * COUNT_BITS) + (1 << place * COUNT_BITS), 0)}
        return self.names.index(name)

    def _answers_of(self, agent: bytes) -> dict[bytes, tuple[int, int]]:
        """What the requests of somebody add, by the state of the answer: see :meth:`_answer`."""
        if len(self._agents) >= _MAX_AGENTS:
            self._agents.clear()
        name = bot_name(agent[:_MAX_AGENT_LENGTH].decode("utf-8", "replace")) if self._has_agents else ""
        if name:
            if name != OUR_BOT:
                self._place(name)
        else:
            self._answers.setdefault("", {b"": (1 << PEOPLE * COUNT_BITS, 0)})
        answers = self._answers[name]
        if len(agent) <= _MAX_AGENT_LENGTH:
            self._agents[agent] = answers
        return answers

    @staticmethod
    def _answer(answers: dict[bytes, tuple[int, int]], state: bytes) -> tuple[int, int]:
        """What a request adds to the counts, and the status of its answer, 0 for none."""
        number = int(state) if state.isdigit() and len(state) == 3 else 0
        status = 0 if number in _UNANSWERED or number < 200 else number
        many = answers[b""][0]
        if 200 <= status < 300 or status == 304:
            many += 1 << OK * COUNT_BITS
        elif status >= 400:
            many += 1 << DEAD * COUNT_BITS
        elif status:
            many += 1 << MOVED * COUNT_BITS
        if len(state) <= 3 and len(answers) < 1_000:
            answers[state] = many, status
        return many, status


def _reorder(many: int, places: list[int]) -> int:
    """Counts with those of each bot at another place."""
    moved = many & (1 << FIRST_BOT * COUNT_BITS) - 1
    packed = many >> FIRST_BOT * COUNT_BITS
    for place in places:
        moved += (packed & COUNT_MASK) << (FIRST_BOT + place) * COUNT_BITS
        packed >>= COUNT_BITS
    return moved


MAX_TARGETS: Final = 140_000

"""Things asked for that are counted at a time."""

_MAX_TARGET_BYTES: Final = 24 * 2**20  # bytes of all of them

_NO_AGENTS: Final[dict[str, int]] = {}


class LogClaimBuilder:
    """Makes claims of ``counts``. ``account`` is kept up with what they were."""

    def __init__(
        self,
        addresses: SourceUrlParser,
        account: SourceReport,
        counts: RequestCounts,
        most: int = MAX_TARGETS,
    ) -> None:
        self.counts = counts
        self._addresses = addresses
        self._account = account
        self._most = most
        self.files = 0  # requests of what is no page by its name
        self.hosts: dict[str, int] = {}

    @property
    def is_full(self) -> bool:
        """Whether it is time to take the claims."""
        return len(self.counts.targets) >= self._most or self.counts.size >= _MAX_TARGET_BYTES

    def take_all(self) -> Iterator[SourceRecord]:
        """What is still counted at the end of the log."""
        self._account.beside += self.counts.beside
        things = self.counts.targets
        for thing in sorted(things):  # a table takes what is sorted in two thirds of the time
            yield from self._of(thing, things.pop(thing))

    def take_rarest(self) -> Iterator[SourceRecord]:
        """The half of it that was asked for least: what is asked for often is worth its room."""
        things, most = self.counts.targets, 1
        while len(seldom := [thing for thing, count in things.items() if count.requests <= most]) * 2 < len(
            things
        ):
            most *= 2
        for thing in sorted(seldom):
            self.counts.size -= len(thing)
            yield from self._of(thing, things.pop(thing))

    def _of(self, thing: bytes, count: RequestCount) -> Iterator[SourceRecord]:
        account = self._account
        many = count.requests
        url = self._url(thing, many)
        if url is RejectReason.FOREIGN:
            account.foreign += many
        elif isinstance(url, RejectReason):
            account.beside += many
            self.files += many * (url is RejectReason.NOT_A_PAGE)
        else:
            account.used += many
            yield self._claim(url, count)

    def _claim(self, url: Url, count: RequestCount) -> SourceRecord:
        account, many = self._account, count.packed
        if count.last:
            account.first = min(account.first or count.first, count.first)
            account.last = max(account.last, count.last)
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
        )

    def _by_name(self, packed: int) -> dict[str, int]:
        if not packed:
            return _NO_AGENTS
        found = {}
        place = 0
        while packed:
            if many := packed & COUNT_MASK:
                found[self.counts.names[place]] = many
            packed >>= COUNT_BITS
            place += 1
        return found

    def _url(self, thing: bytes, many: int) -> Url | RejectReason:
        host, space, path = thing.partition(b" ")
        if not space:
            return self._addresses.parse(target_text(thing))
        if not path.startswith(b"/"):
            return self._addresses.parse(target_text(path))
        name = target_text(host).lower().removesuffix(":80").removesuffix(":443")
        url = self._addresses.parse(f"http://{name}{target_text(path)}")
        if url is RejectReason.FOREIGN and (name in self.hosts or len(self.hosts) < 1_000):
            self.hosts[name] = self.hosts.get(name, 0) + many
        return url
