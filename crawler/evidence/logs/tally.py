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
_BITS: Final = 32  # of the count of one bot
_NONE: Final[dict[str, int]] = {}
_PEOPLE: Final = -1
_OURSELVES: Final = -2
_UNANSWERED: Final = frozenset(
    {0, 444, 499}
)  # the client had gone, or got nothing: this says nothing of the URL


class _Count(Struct, gc=False):
    """The requests for one thing. ``agents`` has the count of each bot in 32 bits of one number.

    A table apiece would take most of the memory. The garbage collector need not look at so many of them.
    """

    last: str = ""
    first: str = ""
    status: int = 0
    people: int = 0
    bots: int = 0
    ok: int = 0
    moved: int = 0
    dead: int = 0
    agents: int = 0


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
        self._agents: dict[bytes, int] = {}
        self._states: dict[bytes, int] = {}
        self._names: list[str] = []
        self.hosts: dict[str, int] = {}
        self.ours = 0

    @property
    def is_full(self) -> bool:
        """Whether it is time to take the claims."""
        return len(self._counts) >= self._most or self._size >= _LONGEST

    def add(self, rows: list[Row]) -> None:  # noqa: C901, PLR0912 - calls would cost more than the counting
        """Count the requests of a block of lines. This is where a long log spends its time."""
        counts, agents, states = self._counts, self._agents, self._states
        written, day, beside, ours = b"", "", 0, 0
        for _, when, asked, state, agent, host, request in rows:
            thing = asked or target(request or b"")
            who = agents.get(agent)
            if who is None:
                who = self._who(agent)
            if thing is None or who == _OURSELVES:
                beside += 1
                ours += who == _OURSELVES
                continue
            if host and host != b"-":
                thing = host + b" " + thing
            count = counts.get(thing)
            if count is None:
                count = counts[thing] = _Count()
                self._size += len(thing)
            if who < 0:
                count.people += 1
            else:
                count.bots += 1
                count.agents += 1 << who
            if when != written:
                written, day = when, self._days.of(when)
            if day > count.last:
                count.last = day
                count.first = count.first or day
            elif day and day < count.first:
                count.first = day
            status = states.get(state)
            if status is None:
                status = self._status(state)
            if 200 <= status < 300 or status == 304:
                count.ok += 1
            elif status >= 400:
                count.dead += 1
            elif status:
                count.moved += 1
            else:
                continue
            if day >= count.last:
                count.status = status
        self._account.beside += beside
        self.ours += ours

    def claims(self) -> Iterator[Claim]:
        """What was counted since the last time, which is forgotten."""
        counts, self._counts, self._size = self._counts, {}, 0
        while counts:
            yield from self._of(*counts.popitem())

    def rare(self) -> Iterator[Claim]:
        """The half of it that was asked for least: what is asked for often is worth its room."""
        counts, most = self._counts, 1
        while len(
            seldom := [thing for thing, count in counts.items() if count.people + count.bots <= most]
        ) * 2 < len(counts):
            most *= 2
        for thing in seldom:
            self._size -= len(thing)
            yield from self._of(thing, counts.pop(thing))

    def _of(self, thing: bytes, count: _Count) -> Iterator[Claim]:
        account = self._account
        many = count.people + count.bots
        url = self._url(thing, many)
        if url is Stray.FOREIGN:
            account.foreign += many
        elif isinstance(url, Stray):
            account.beside += many
        else:
            account.used += many
            yield self._claim(url, count)

    def _claim(self, url: Url, count: _Count) -> Claim:
        account, agents = self._account, self._by_name(count.agents) if count.agents else _NONE
        if count.last:
            account.first = min(account.first or count.first, count.first)
            account.last = max(account.last, count.last)
        return Claim(
            url=url,
            first=count.first,
            last=count.last,
            people=count.people,
            bots=count.bots,
            engines=sum(many for name, many in agents.items() if name in ENGINES),
            ok=count.ok,
            moved=count.moved,
            dead=count.dead,
            status=count.status,
            agents=agents,
        )

    def _by_name(self, packed: int) -> dict[str, int]:
        found = {}
        place = 0
        while packed:
            if many := packed & (2**_BITS - 1):
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

    def _who(self, agent: bytes) -> int:
        if len(self._agents) >= _AGENTS:
            self._agents.clear()
        name = bot(agent[:_LONG].decode("utf-8", "replace")) if self._has_agents else ""
        if name in ("", OURS):
            who = _OURSELVES if name else _PEOPLE
        else:
            if name not in self._names:
                self._names.append(name)
            who = self._names.index(name) * _BITS
        if len(agent) <= _LONG:
            self._agents[agent] = who
        return who

    def _status(self, state: bytes) -> int:
        number = int(state) if state.isdigit() and len(state) == 3 else 0
        number = 0 if number in _UNANSWERED or number < 200 else number
        if len(state) <= 3 and len(self._states) < 1_000:
            self._states[state] = number
        return number
