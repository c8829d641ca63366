"""Makes claims of the counts of one log, in flat memory: what is too much is handed on and counted anew."""

from collections.abc import Iterator
from typing import Final

from crawler.audit.claim import SourceRecord, SourceReport
from crawler.audit.sources.logs.bots import SEARCH_ENGINES
from crawler.audit.sources.logs.counts import (
    BOTS,
    COUNT_BITS,
    COUNT_MASK,
    DEAD,
    FIRST_BOT,
    MOVED,
    OK,
    RequestCount,
    RequestCounts,
)
from crawler.audit.sources.logs.fields import target_text
from crawler.audit.sources.urls import RejectReason, SourceUrlParser
from crawler.model import Url

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
