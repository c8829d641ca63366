"""What each stage of our crawl costs alone: the parts of the product, one after the other, over the same pages.

Everything in one process: processor time of all its threads (``time.process_time``), the best of some rounds.
"""

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import anyio
import psutil

from crawler.config import config as settings
from crawler.config import fetcher as fetching
from crawler.config import plan as planning
from crawler.crawl.assembly import build_judge, fetch_options, parser_options
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.indexability import is_readable
from crawler.crawl.revalidation import response_metadata
from crawler.lastmod.policy import date_of_new_page
from crawler.model import DiscoveredBy, DiscoveredUrl, FetchedDocument, Lease, Outcome, Page, Reply, Url, Verdict
from crawler.parse.html.page import read_page
from crawler.parse.pool import ParsePool
from crawler.parse.protocol import LENGTH_PREFIX, ParseJob, decode_job, decode_page, encode_message
from crawler.publish.entries import EntryBuilder, EntryCounts
from crawler.publish.listing import Listing
from crawler.publish.write import assign_shards, write_sitemap
from crawler.state.store import Resume, Store
from crawler.url.normalize import origin_of
from crawler.url.resolve import UrlResolver
from sitemap import Directory

Result = TypeVar("Result")
Judged = tuple[Verdict, str, str]  # how a page ends, its date, and where the date is from


@dataclass(frozen=True)
class Stage:
    """A stage and its processor time in milliseconds a page."""

    name: str
    about: str
    ms: float


@dataclass(frozen=True)
class Item:
    """A page on its way: what was answered, what of it is read, and what it says."""

    reply: Reply
    document: FetchedDocument
    page: Page


class Bench:
    """Takes pages of a served site through each stage. ``folder`` is for files, ``known`` are all pages there are."""

    def __init__(self, url: str, folder: Path, known: list[str], concurrency: int, processes: int) -> None:
        self._plan = planning.plan_crawl(
            settings.Config(
                site=settings.SiteConfig(url=url),
                parse=settings.ParseConfig(processes=processes),
                pace=settings.PaceConfig(concurrency=concurrency, rate=0),
                output=settings.OutputConfig(directory=str(folder / "out")),
                state=settings.StateConfig(directory=str(folder / "state")),
            )
        )
        self._folder = folder
        self._known = [Url(each) for each in known]

    def run(self, sample: int, rounds: int) -> list[Stage]:
        """Measure all stages with about so many pages, evenly taken from all; 0 takes all."""
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)  # as the product does
        urls = self._known[:: max(1, len(self._known) // sample) if sample else 1]
        fetching, replies = best(rounds, lambda: self._fetch(urls))
        reading, items = self._read(replies, rounds)
        framing, _ = best(rounds, timed(lambda: _frames(items)))
        piping = self._pipe([item.document for item in items], rounds)
        judging, judged = best(rounds, timed(lambda: self._judge(items)))
        settling, writing = self._keep(items, judged, rounds)
        timings = {
            "fetch": (fetching, "from the server, by our fetcher over the fast transport"),
            "frames": (framing, "document and page, each encoded and decoded for the pipe"),
            "read": (reading, "all that a page says, its links resolved from memory"),
            "pipes": (
                max(0.0, piping - reading - framing),
                "what reading in processes takes beyond read and frames: pipes and turns of the event loop",
            ),
            "judge": (judging, "verdict and lastmod"),
            "settle": (settling, "into the SQLite frontier, links and all, and committed"),
            "write": (writing, "from the frontier into the published sitemap"),
        }
        return [Stage(name, about, 1000 * cpu / len(urls)) for name, (cpu, about) in timings.items()]

    def _fetch(self, urls: list[Url]) -> tuple[float, list[Reply]]:
        body, tasks_at_a_time = (fetch_options(self._plan.config).page_body, self._plan.config.pace.concurrency)
        replies: dict[Url, Reply] = {}
        todo = iter(urls)

        async def run() -> float:
            async with fetching.build_fetcher(self._plan.config, [origin_of(self._plan.seed)]) as fetcher:

                async def work() -> None:
                    for url in todo:
                        answer = await fetcher.fetch(url, body=body)
                        if not isinstance(answer, Reply):
                            raise TypeError(f"{url}: {answer.message}")
                        replies[url] = answer

                started = time.process_time()  # starting an event loop is no part of it
                async with anyio.create_task_group() as tasks:
                    for _ in range(tasks_at_a_time):
                        tasks.start_soon(work)
                return time.process_time() - started

        cpu = anyio.run(run, backend_options={"use_uvloop": True})
        return cpu, [replies[url] for url in urls]

    def _read(self, replies: list[Reply], rounds: int) -> tuple[float, list[Item]]:
        options, resolver = parser_options(self._plan).options, UrlResolver(self._plan.params)
        documents = [_document(reply) for reply in replies]
        now = time.time()

        def read() -> list[Page]:
            return [read_page(document, options, resolver, now) for document in documents]

        read()  # fills the memory of the resolver
        cpu, pages = best(rounds, timed(read))
        return cpu, [Item(*each) for each in zip(replies, documents, pages, strict=True)]

    def _pipe(self, documents: list[FetchedDocument], rounds: int) -> float:
        """The processor time of this process and the parser processes for all documents, once these are warm."""
        pace, processes = self._plan.config.pace, self._plan.processes
        times = []

        async def run() -> None:
            async with ParsePool(processes, parser_options(self._plan)) as pool:

                async def work() -> None:
                    for document in todo:
                        await pool.read(document)

                for _ in range(rounds + 1):
                    todo = iter(documents)
                    async with anyio.create_task_group() as tasks:
                        for _ in range(pace.concurrency):
                            tasks.start_soon(work)
                    times.append(_family_time())

        anyio.run(run, backend_options={"use_uvloop": True})
        return min(after - before for before, after in pairwise(times))

    def _judge(self, items: list[Item]) -> list[Judged]:
        indexability, policy = build_judge(self._plan), self._plan.config.content.lastmod
        judged = []
        for item in items:
            reply, page = item.reply, item.page
            dated = date_of_new_page(response_metadata(reply, page), policy)
            verdict = indexability.verdict(reply, page if is_readable(reply) else None)
            judged.append((verdict, dated.lastmod, dated.source))
        return judged

    def _keep(self, items: list[Item], judged: list[Judged], rounds: int) -> tuple[float, float]:
        """Settle into a new frontier each time, and write from it."""
        outcomes = {item.reply.url: (item, *each) for item, each in zip(items, judged, strict=True)}
        settling, writing = [], []
        for number in range(rounds):
            with Store(self._folder / f"state-{number}", {}, begin=Resume.FRESH) as store:
                frontier = SqliteFrontier(store.db, self._admit, run=store.run.number)
                # The other pages of the site are known before, or each of these would seem to bring several new ones.
                others = [url for url in self._known if url not in outcomes]
                frontier.admit([DiscoveredUrl(url, DiscoveredBy.LINK, 1) for url in others])
                frontier.commit()
                settling.append(timed(lambda: _settle(frontier, outcomes))()[0])  # noqa: B023 - called at once
                target = Directory(self._folder / f"out-{number}")
                writing.append(timed(lambda: self._write(store, frontier, target))()[0])  # noqa: B023
        return min(settling), min(writing)

    def _write(self, store: Store, frontier: SqliteFrontier, target: Directory) -> None:
        content, output, tally = self._plan.config.content, self._plan.config.output, EntryCounts()
        listing = Listing(store.db)
        listing.rebuild(complete=True, grace=0)
        entries = EntryBuilder(content, output, frontier.verdict_of, tally)
        assign_shards(self._plan, listing, entries, tally)
        write_sitemap(self._plan, listing, entries, target, "")

    def _admit(self, find: DiscoveredUrl) -> Verdict | None:
        return self._plan.scope.admit(find.url, find.depth, find.found, find.kind)


def timed(work: Callable[[], Result]) -> Callable[[], tuple[float, Result]]:
    """The work, telling the processor time that it took too."""

    def run() -> tuple[float, Result]:
        started = time.process_time()
        result = work()
        return time.process_time() - started, result

    return run


def best(rounds: int, run: Callable[[], tuple[float, Result]]) -> tuple[float, Result]:
    """The least time of some rounds, and the last result."""
    cpu, result = run()
    for _ in range(rounds - 1):
        again, result = run()
        cpu = min(cpu, again)
    return cpu, result


def _family_time() -> float:
    """Seconds that this process and its children have worked; of the children in steps of 10 ms."""
    children = [child.cpu_times() for child in psutil.Process().children()]
    return time.process_time() + sum(float(each.user + each.system) for each in children)


def _document(reply: Reply) -> FetchedDocument:
    kind, links, robots = (
        reply.header("content-type") or "",
        reply.header_all("link"),
        reply.header_all("x-robots-tag"),
    )
    return FetchedDocument(reply.url, kind, links, robots, reply.header("refresh") or "", reply.body)


def _frames(items: list[Item]) -> None:
    for item in items:
        decode_job(encode_message(ParseJob(item.document, 0.0))[LENGTH_PREFIX.size :])
        decode_page(encode_message(item.page)[LENGTH_PREFIX.size :])


def _settle(frontier: SqliteFrontier, outcomes: dict[Url, tuple[Item, Verdict, str, str]]) -> None:
    frontier.admit([DiscoveredUrl(url, DiscoveredBy.LINK, 0) for url in outcomes])
    for lease in _leases(frontier, len(outcomes)):
        item, verdict, _, _ = outcomes[lease.url]
        seen = response_metadata(item.reply, item.page)
        frontier.settle(Outcome(lease, verdict, item.reply.status, item.page.links, page=item.page, sighting=seen))
    frontier.commit()


def _leases(frontier: SqliteFrontier, count: int) -> Iterator[Lease]:
    """The nearest first, which are those that were admitted at depth 0."""
    for _ in range(count):
        lease = frontier.next(0.0, lambda home, now: 0.0)
        if not isinstance(lease, Lease):
            raise TypeError(f"the frontier answers {lease}")
        yield lease
