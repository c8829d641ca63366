"""Counts the requests for each URL of one log, in flat memory: what is too much is handed on and counted anew."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from crawler.claim import Account, Claim
from crawler.evidence.addresses import Addresses, Stray
from crawler.evidence.logs.bots import ENGINES, OURS, bot
from crawler.evidence.logs.days import Days
from crawler.evidence.logs.requests import Row, target, text
from crawler.model import Url

MOST: Final = 200_000
"""Things asked for that are counted at a time."""
_LONGEST: Final = 24 * 2**20  # bytes of all of them
_AGENTS: Final = 10_000
_LONG: Final = 1_000  # bytes of an agent that is remembered, and of it what is looked at
_BITS: Final = 32  # of one count
_MASK: Final = 2**_BITS - 1
# the places of counts; those of each bot come after them
_PEOPLE, _BOTS, _OK, _MOVED, _DEAD, _FIRST_BOT = range(6)
_NONE: Final[dict[str, int]] = {}
_OURSELVES: Final[dict[bytes, tuple[int, int]]] = {}
_UNANSWERED: Final = frozenset(
    {0, 444, 499}
)  # the client had gone, or got nothing: this says nothing of the URL


class _Count(Struct, gc=False):
    """The requests for one thing. ``many`` has all counts in one number, 32 bits for each, by their places.

    One addition for a line is quicker than several, and a table of bots apiece would take most of the memory. The
    garbage collector need not look at so many of them.
    """

    last: str = ""
    first: str = ""
    status: int = 0
    many: int = 0

    @property
    def requests(self) -> int:
        """All of them."""
        return (self.many & _MASK) + (self.many >> _BOTS * _BITS & _MASK)


class Tally:
    """Counts rows, and makes claims of them. ``account`` is kept up with what they were."""

    def __init__(self, addresses: Addresses, account: Account, has_agents: bool, most: int = MOST) -> None:
        self._addresses = addresses
        self._account = account
        self._most = most
        self._has_agents = has_agents
        self._counts: dict[bytes, _Count] = {}
        self._size = 0
        self._days = Days()
        self._agents: dict[bytes, dict[bytes, tuple[int, int]]] = {}
        self._answers: dict[str, dict[bytes, tuple[int, int]]] = {OURS: _OURSELVES}
        self._names: list[str] = []
        self.hosts: dict[str, int] = {}
        self.ours = 0

    @property
    def is_full(self) -> bool:
        """Whether it is time to take the claims."""
        return len(self._counts) >= self._most or self._size >= _LONGEST

    def add(self, rows: list[Row]) -> None:  # noqa: C901 - calls would cost more than the counting
        """Count the requests of a block of lines. This is where a long log spends its time."""
        counts, agents = self._counts, self._agents
        written, day, beside, ours = b"", "", 0, 0
        for _, when, asked, state, agent, host, request in rows:
            thing = asked or target(request or b"")
            answers = agents.get(agent)
            if answers is None:
                answers = self._who(agent)
            if thing is None or answers is _OURSELVES:
                beside += 1
                ours += answers is _OURSELVES
                continue
            if host and host != b"-":
                thing = host + b" " + thing
            count = counts.get(thing)
            if count is None:
                count = counts[thing] = _Count()
                self._size += len(thing)
            many, status = answers.get(state) or self._answer(answers, state)
            count.many += many
            if when != written:
                written, day = when, self._days.of(when)
            if day != count.last:
                if day < count.last:
                    if day:
                        count.first = min(count.first, day)
                    continue
                count.first, count.last = count.first or day, day
            if status and status != count.status:
                count.status = status
        self._account.beside += beside
        self.ours += ours

    def claims(self) -> Iterator[Claim]:
        """What was counted since the last time, which is forgotten."""
        counts, self._counts, self._size = self._counts, {}, 0
        for thing in sorted(counts):  # a table takes what is sorted in two thirds of the time
            yield from self._of(thing, counts.pop(thing))

    def rare(self) -> Iterator[Claim]:
        """The half of it that was asked for least: what is asked for often is worth its room."""
        counts, most = self._counts, 1
        while len(seldom := [thing for thing, count in counts.items() if count.requests <= most]) * 2 < len(
            counts
        ):
            most *= 2
        for thing in sorted(seldom):
            self._size -= len(thing)
            yield from self._of(thing, counts.pop(thing))

    def _of(self, thing: bytes, count: _Count) -> Iterator[Claim]:
        account = self._account
        many = count.requests
        url = self._url(thing, many)
        if url is Stray.FOREIGN:
            account.foreign += many
        elif isinstance(url, Stray):
            account.beside += many
        else:
            account.used += many
            yield self._claim(url, count)

    def _claim(self, url: Url, count: _Count) -> Claim:
        account, many = self._account, count.many
        if count.last:
            account.first = min(account.first or count.first, count.first)
            account.last = max(account.last, count.last)
        agents = self._by_name(many >> _FIRST_BOT * _BITS)
        return Claim(
            url=url,
            first=count.first,
            last=count.last,
            people=many & _MASK,
            bots=many >> _BOTS * _BITS & _MASK,
            engines=sum(of for name, of in agents.items() if name in ENGINES) if agents else 0,
            ok=many >> _OK * _BITS & _MASK,
            moved=many >> _MOVED * _BITS & _MASK,
            dead=many >> _DEAD * _BITS & _MASK,
            status=count.status,
            agents=agents,
        )

    def _by_name(self, packed: int) -> dict[str, int]:
        if not packed:
            return _NONE
        found = {}
        place = 0
        while packed:
            if many := packed & _MASK:
                found[self._names[place]] = many
            packed >>= _BITS
            place += 1
        return found

    def _url(self, thing: bytes, many: int) -> Url | Stray:
        host, space, path = thing.partition(b" ")
        if not space:
            return self._addresses.url(text(thing))
        if not path.startswith(b"/"):
            return self._addresses.url(text(path))
        name = text(host).lower().removesuffix(":80").removesuffix(":443")
        url = self._addresses.url(f"http://{name}{text(path)}")
        if url is Stray.FOREIGN and (name in self.hosts or len(self.hosts) < 1_000):
            self.hosts[name] = self.hosts.get(name, 0) + many
        return url

    def _who(self, agent: bytes) -> dict[bytes, tuple[int, int]]:
        """What the requests of somebody add, by the state of the answer: see :meth:`_answer`."""
        if len(self._agents) >= _AGENTS:
            self._agents.clear()
        name = bot(agent[:_LONG].decode("utf-8", "replace")) if self._has_agents else ""
        answers = self._answers.get(name)
        if answers is None:
            if name:
                who = (1 << _BOTS * _BITS) + (1 << (_FIRST_BOT + len(self._names)) * _BITS)
                self._names.append(name)
            else:
                who = 1 << _PEOPLE * _BITS
            answers = self._answers[name] = {b"": (who, 0)}
        if len(agent) <= _LONG:
            self._agents[agent] = answers
        return answers

    @staticmethod
    def _answer(answers: dict[bytes, tuple[int, int]], state: bytes) -> tuple[int, int]:
        """What a request adds to the counts, and the status of its answer, 0 for none."""
        number = int(state) if state.isdigit() and len(state) == 3 else 0
        status = 0 if number in _UNANSWERED or number < 200 else number
        many = answers[b""][0]
        if 200 <= status < 300 or status == 304:
            many += 1 << _OK * _BITS
        elif status >= 400:
            many += 1 << _DEAD * _BITS
        elif status:
            many += 1 << _MOVED * _BITS
        if len(state) <= 3 and len(answers) < 1_000:
            answers[state] = many, status
        return many, status
