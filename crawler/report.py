"""What a run has to tell, as values: how it ended, what was published, what was left out and why."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from crawler.engine import Ending, Tally
from crawler.frontier import Frontier
from crawler.memory.runs import PublishedFile
from crawler.model import State, Url
from crawler.plan import Plan
from crawler.publish import Publication
from crawler.store import Store

# In the order a person wants to read them: what may be a mistake first, what is as it should be last.
LEFT_OUT = (
    State.INTERNAL_ERROR,
    State.UNREACHABLE,
    State.SERVER_ERROR,
    State.BAD_ANSWER,
    State.PARSE_FAILED,
    State.CLIENT_ERROR,
    State.NOINDEX,
    State.CANONICAL_ELSEWHERE,
    State.REDIRECT,
    State.ROBOTS,
    State.NOFOLLOW,
    State.TRAP,
    State.TOO_DEEP,
    State.TOO_LONG,
    State.EXCLUDED,
    State.WRONG_TYPE,
    State.OUT_OF_SCOPE,
    State.PENDING,
)


ONE_PAGE = (
    "only one page was found, and it links to no other: if a browser shows more, its links are made by JavaScript, "
    "which is not run; a sitemap of the site's own would help to find them"
)


class Example(Struct, frozen=True):
    """A URL that was left out, and the sentence that says why."""

    url: Url
    reason: str


class LeftOut(Struct, frozen=True):
    """All URLs that ended in one state, by number and some by name."""

    state: State
    count: int
    examples: list[Example]


class Run(Struct, frozen=True):
    """How the visiting went: its ending, its tally, and what robots.txt had odd about it."""

    ending: Ending
    tally: Tally
    notes: tuple[str, ...]


class Report(Struct, frozen=True, kw_only=True):
    """One run. ``published`` is empty when nothing was, and ``refusal`` then says why."""

    url: Url
    sitemap_url: Url
    complete: bool
    ending: str
    resumed: bool
    seconds: float
    fetched: int
    bytes: int
    listed: int
    with_lastmod: int
    images: int
    videos: int
    alternates: int
    published: list[PublishedFile]
    directory: str
    refusal: str
    left_out: list[LeftOut]
    notes: list[str]
    state_directory: str
    exit_code: int

    def as_json(self) -> dict[str, Any]:
        """The report in values that JSON knows."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return built


def report(
    plan: Plan, store: Store, frontier: Frontier, run: Run, publication: Publication, examples: int | None
) -> Report:
    """Put together what is told of a run. ``examples`` URLs are named for each way of being left out, None: all."""
    tally, listed = run.tally, publication.listed
    files = [PublishedFile(file.name, file.url, file.entries, file.stored) for file in publication.files]
    return Report(
        url=plan.seed,
        sitemap_url=Url(files[0].url) if files else plan.sitemap_url,
        complete=run.ending is Ending.COMPLETE,
        ending=run.ending.value,
        resumed=store.resumed,
        seconds=tally.seconds,
        fetched=tally.fetched,
        bytes=tally.bytes,
        listed=listed.pages,
        with_lastmod=listed.with_lastmod,
        images=listed.images,
        videos=listed.videos,
        alternates=listed.alternates,
        published=files,
        directory=str(plan.output),
        refusal=publication.refusal,
        left_out=left_out(frontier, examples),
        notes=[*run.notes, *listed.notes, *publication.notes, *_hints(frontier, listed.pages, run.ending)],
        state_directory=str(store.directory),
        exit_code=publication.exit_code or (1 if tally.internal_errors else 0),
    )


def _hints(frontier: Frontier, pages: int, ending: Ending) -> list[str]:
    """What a person would want to be told about a result that looks wrong."""
    others = set(frontier.counts()) - {State.INDEXABLE, State.SITEMAP_FILE, State.OUT_OF_SCOPE}
    if pages == 1 and not others and ending is Ending.COMPLETE:
        return [ONE_PAGE]
    return []


def left_out(frontier: Frontier, examples: int | None = 3) -> list[LeftOut]:
    """What is not in the sitemap, state by state, with so many examples of each (None: all)."""
    counts = frontier.counts()
    return [
        LeftOut(state, counts[state], list(_first(frontier, state, examples)))
        for state in LEFT_OUT
        if counts.get(state)
    ]


def _first(frontier: Frontier, state: State, limit: int | None) -> Iterator[Example]:
    for number, record in enumerate(frontier.records(state)):
        if number == limit:
            return
        yield Example(record.url, record.reason)
