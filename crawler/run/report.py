"""What a run has to tell, as values: how it ended, what was published, what was left out and why."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from crawler.config.plan import CrawlPlan
from crawler.crawl.engine import RunEnd
from crawler.crawl.frontier import Frontier
from crawler.crawl.visit import VisitResult
from crawler.model import State, Url
from crawler.notify.ledger_status import NotifyResult
from crawler.publish.changes import Change
from crawler.publish.upload.upload import UploadResult
from crawler.publish.write import unused_settings_note
from crawler.run.finish import FinishedRun
from crawler.state.runs import PublishedFile
from crawler.state.store import Store

# In the order a person wants to read them: what may be a mistake first, what is as it should be last.
OMITTED_STATES = (
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
    State.UNLINKED,
    State.TRAP,
    State.TOO_DEEP,
    State.TOO_LONG,
    State.EXCLUDED,
    State.WRONG_TYPE,
    State.OUT_OF_SCOPE,
    State.PENDING,
)


ONE_PAGE_HINT = (
    "only one page was found, and it links to no other: if a browser shows more, its links are made by JavaScript, "
    "which is not run; a sitemap of the site's own would help to find them"
)


class Example(Struct, frozen=True):
    """A URL that was left out, and the sentence that says why."""

    url: Url
    reason: str


class OmittedUrls(Struct, frozen=True):
    """All URLs that ended in one state, by number and some by name."""

    state: State
    count: int
    examples: list[Example]


class Report(Struct, frozen=True, kw_only=True):
    """One run. ``published`` is empty when nothing was, and ``refusal`` then says why.

    ``completeness`` is "complete", "degraded" or "truncated", and ``because`` says what failed or which limit it was.
    ``added`` to ``deindexed`` count what differs from what was published before; ``kept`` counts the pages that failed
    and keep their place. What came after the run is in ``uploaded`` and ``announced``.
    """

    run: int
    url: Url
    source: str  # where its pages were read, "" for there
    sitemap_url: str
    complete: bool
    ending: str
    outcome: str  # "published", "unchanged", "partial", "refused", "interrupted", "cut short" or "dry"
    completeness: str
    because: str
    resumed: bool
    seconds: float
    fetched: int
    unchanged: int
    bytes: int
    listed: int
    kept: int
    is_first: bool  # nothing was published before
    added: int
    changed: int
    removed: int
    moved: int
    deindexed: int
    changes: list[Change]  # some of each kind
    with_lastmod: int
    images: int
    videos: int
    alternates: int
    published: list[PublishedFile]
    directory: str
    refusal: str
    left_out: list[OmittedUrls]
    notes: list[str]
    state_directory: str
    exit_code: int
    uploaded: UploadResult | None = None  # None: to nowhere, or it failed
    upload_error: str = ""
    announced: NotifyResult | None = None  # None: telling is turned off, or nothing was there to be told

    def as_json(self) -> dict[str, Any]:
        """The report in values that JSON knows."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return built


def build_report(
    plan: CrawlPlan,
    store: Store,
    frontier: Frontier,
    visited: VisitResult,
    concluded: FinishedRun,
    examples: int | None,
) -> Report:
    """Put together what is told of a run. ``examples`` URLs are named for each way of being left out, None: all."""
    tally, listed, run = visited.tally, concluded.tally, concluded.run
    published = concluded.published
    files = run.files if published else []
    beside = unused_settings_note(plan.config.output, published.files) if published else ()
    return Report(
        run=run.number,
        url=plan.seed,
        source=plan.source.display_name if plan.source else "",
        sitemap_url=published.url if published else plan.sitemap_url,
        complete=visited.ending is RunEnd.COMPLETE,
        ending=visited.ending.value,
        outcome=run.outcome,
        completeness=concluded.completeness.kind.value,
        because=concluded.completeness.reason,
        resumed=store.resumed,
        seconds=tally.seconds,
        fetched=tally.fetched,
        unchanged=tally.unchanged,
        bytes=tally.bytes,
        listed=listed.pages,
        kept=run.kept,
        is_first=store.is_first,
        added=run.added,
        changed=run.changed,
        removed=run.removed,
        moved=run.moved,
        deindexed=run.deindexed,
        changes=list(concluded.changes),
        with_lastmod=listed.with_lastmod,
        images=listed.images,
        videos=listed.videos,
        alternates=listed.alternates,
        published=files,
        directory=str(plan.output),
        refusal=run.refusal,
        left_out=omitted_urls(frontier, examples),
        notes=[*run.notes, *beside, *_hints(frontier, listed.pages, visited.ending)],
        state_directory=str(store.directory),
        exit_code=run.exit_code or (1 if tally.internal_errors else 0),
    )


def _hints(frontier: Frontier, pages: int, ending: RunEnd) -> list[str]:
    """What a person would want to be told about a result that looks wrong."""
    others = set(frontier.counts()) - {State.INDEXABLE, State.SITEMAP_FILE, State.OUT_OF_SCOPE}
    if pages == 1 and not others and ending is RunEnd.COMPLETE:
        return [ONE_PAGE_HINT]
    return []


def omitted_urls(frontier: Frontier, examples: int | None = 3) -> list[OmittedUrls]:
    """What is not in the sitemap, state by state, with so many examples of each (None: all)."""
    counts = frontier.counts()
    return [
        OmittedUrls(state, counts[state], list(_first_records(frontier, state, examples)))
        for state in OMITTED_STATES
        if counts.get(state)
    ]


def _first_records(frontier: Frontier, state: State, limit: int | None) -> Iterator[Example]:
    for number, record in enumerate(frontier.records(state)):
        if number == limit:
            return
        yield Example(record.url, record.reason)
