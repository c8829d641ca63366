"""Makes claims of the counts of one log, in flat memory: what is too much is handed on and counted anew."""

from collections.abc import Iterator
from typing import Final

from crawler.audit.claim import Account, Claim
from crawler.audit.sources.logs.bots import ENGINES
from crawler.audit.sources.logs.counts import BITS, BOTS, DEAD, FIRST_BOT, MASK, MOVED, OK, Count, Counts
from crawler.audit.sources.logs.fields import text
from crawler.audit.sources.urls import Addresses, Stray
from crawler.model import Url

MOST: Final = 140_000
"""Things asked for that are counted at a time."""
_LONGEST: Final = 24 * 2**20  # bytes of all of them
_NONE: Final[dict[str, int]] = {}


class Tally:
    """Makes claims of ``counts``. ``account`` is kept up with what they were."""

    def __init__(self, addresses: Addresses, account: Account, counts: Counts, most: int = MOST) -> None:
        self.counts = counts
        self._addresses = addresses
        self._account = account
        self._most = most
        self.files = 0  # requests of what is no page by its name
        self.hosts: dict[str, int] = {}

    @property
    def is_full(self) -> bool:
        """Whether it is time to take the claims."""
        return len(self.counts.things) >= self._most or self.counts.size >= _LONGEST

    def claims(self) -> Iterator[Claim]:
        """What is still counted at the end of the log."""
        self._account.beside += self.counts.beside
        things = self.counts.things
        for thing in sorted(things):  # a table takes what is sorted in two thirds of the time
            yield from self._of(thing, things.pop(thing))

    def rare(self) -> Iterator[Claim]:
        """The half of it that was asked for least: what is asked for often is worth its room."""
        things, most = self.counts.things, 1
        while len(seldom := [thing for thing, count in things.items() if count.requests <= most]) * 2 < len(
            things
        ):
            most *= 2
        for thing in sorted(seldom):
            self.counts.size -= len(thing)
            yield from self._of(thing, things.pop(thing))

    def _of(self, thing: bytes, count: Count) -> Iterator[Claim]:
        account = self._account
        many = count.requests
        url = self._url(thing, many)
        if url is Stray.FOREIGN:
            account.foreign += many
        elif isinstance(url, Stray):
            account.beside += many
            self.files += many * (url is Stray.BESIDE)
        else:
            account.used += many
            yield self._claim(url, count)

    def _claim(self, url: Url, count: Count) -> Claim:
        account, many = self._account, count.many
        if count.last:
            account.first = min(account.first or count.first, count.first)
            account.last = max(account.last, count.last)
        agents = self._by_name(many >> FIRST_BOT * BITS)
        return Claim(
            url=url,
            first=count.first,
            last=count.last,
            people=many & MASK,
            bots=many >> BOTS * BITS & MASK,
            engines=sum(of for name, of in agents.items() if name in ENGINES) if agents else 0,
            ok=many >> OK * BITS & MASK,
            moved=many >> MOVED * BITS & MASK,
            dead=many >> DEAD * BITS & MASK,
            status=count.status,
            agents=agents,
        )

    def _by_name(self, packed: int) -> dict[str, int]:
        if not packed:
            return _NONE
        found = {}
        place = 0
        while packed:
            if many := packed & MASK:
                found[self.counts.names[place]] = many
            packed >>= BITS
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
