"""Publishing what a crawl found: the gate that may refuse, and the stream of entries into the sitemap's writer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from crawler.config import Content, Output
from crawler.engine import Ending
from crawler.errors import Incomplete, NothingCrawlable, PublishRefused, UsageError
from crawler.frontier import Frontier
from crawler.model import Record, State, Url
from crawler.plan import Plan
from sitemap import (
    Alternate,
    DestinationError,
    Directory,
    Entry,
    FileFacts,
    Image,
    InvalidEntry,
    LimitExceeded,
    SitemapError,
    SitemapWriter,
    WriterOptions,
    alternate_fault,
    by_language,
    by_section,
    by_type,
    image_fault,
    video_fault,
)

_FAILED = (State.SERVER_ERROR, State.UNREACHABLE, State.PARSE_FAILED, State.INTERNAL_ERROR)
_GROUPS = {"section": by_section(), "language": by_language(), "type": by_type()}
_FEW = 5  # failures that say nothing about the site as a whole, however small it is
MAX_NOTES = 20  # different things that are odd


@dataclass(slots=True)
class Listed:
    """What the entries hold, counted as they go by, and what had to be left out of them."""

    pages: int = 0
    with_lastmod: int = 0
    images: int = 0
    videos: int = 0
    alternates: int = 0
    odd: dict[str, tuple[int, Url]] = field(
        default_factory=dict
    )  # what is odd: on how many pages, and the first

    def count(self, entry: Entry) -> None:
        """Count one entry."""
        self.pages += 1
        self.with_lastmod += bool(entry.lastmod)
        self.images += len(entry.images)
        self.videos += len(entry.videos)
        self.alternates += len(entry.alternates)

    def note(self, url: Url, text: str) -> None:
        """Count what is odd about a page."""
        count, first = self.odd.get(text, (0, url))
        if count or len(self.odd) < MAX_NOTES:
            self.odd[text] = (count + 1, first)

    @property
    def notes(self) -> list[str]:
        """What is odd, each thing once."""
        return [
            f"{text} ({count:,} pages, the first {first})" if count > 1 else f"{text} ({first})"
            for text, (count, first) in self.odd.items()
        ]


@dataclass(frozen=True, slots=True)
class Publication:
    """What became of the sitemap: its files, the first of them the one to announce; or why there are none."""

    listed: Listed
    files: tuple[FileFacts, ...] = ()
    refusal: str = ""
    exit_code: int = 0
    notes: tuple[str, ...] = ()


def publish(plan: Plan, frontier: Frontier, ending: Ending, destination: Directory | None) -> Publication:
    """Publish the indexable pages, or say why not. Without a destination they are only counted.

    Raises sitemap.DestinationError when the files cannot be written; what was published before then stays.
    """
    listed = Listed()
    complete = ending is Ending.COMPLETE
    if not complete and not plan.config.output.partial:
        return Publication(
            listed, refusal=f"{ending}, and --partial was not given", exit_code=Incomplete.exit_code
        )
    if not frontier.counts().get(State.INDEXABLE):
        code = NothingCrawlable.exit_code if complete else Incomplete.exit_code
        return Publication(listed, refusal=_nothing(frontier, plan.seed), exit_code=code)
    if reason := refusal(frontier, plan.seed, plan.config.output.max_failed):
        kept = f"{reason}; what was published before stays"
        return Publication(listed, refusal=kept, exit_code=PublishRefused.exit_code)
    code = 0 if complete else Incomplete.exit_code
    entries = Entries(frontier, plan.config.content, plan.config.output, listed)
    if destination is None:
        for entry in entries:
            listed.count(entry)
        return Publication(listed, refusal="this was a dry run", exit_code=code)
    files = _write(plan, entries, destination, listed)
    return Publication(listed, files, exit_code=code, notes=_idle(plan.config.output, files))


def _idle(output: Output, files: Sequence[FileFacts]) -> tuple[str, ...]:
    """What the settings for many files have to say of one."""
    named = [
        name for name, value in (("--group", output.group), ("--file-names", output.file_names)) if value
    ]
    if len(files) > 1 or not named:
        return ()
    return (f"{' and '.join(named)} changed nothing: all pages are in one file, and there is no index",)


def refusal(frontier: Frontier, seed: Url, max_failed: float) -> str:
    """Why this crawl must not replace what is published, or "".

    The start URL failed, or so many pages did that the site was plainly not itself.
    """
    counts = frontier.counts()
    failed = sum(counts.get(state, 0) for state in _FAILED)
    visited = failed + counts.get(State.INDEXABLE, 0)
    ended = frontier.verdict_of(seed)
    if ended and ended.state in (*_FAILED, State.BAD_ANSWER):
        return f"the start URL {seed} failed ({ended.reason})"
    if failed >= _FEW and failed / visited > max_failed:
        return f"{failed:,} of {visited:,} pages failed, over the {max_failed:.0%} that --max-failed allows"
    return ""


def _nothing(frontier: Frontier, seed: Url) -> str:
    """Why there is nothing to list, as far as the start URL can tell."""
    ended = frontier.verdict_of(seed)
    if ended is None or ended.state is State.INDEXABLE:
        return f"no page from {seed} on is indexable"
    told = f"no page from {seed} on is indexable: it is {ended.state.value} ({ended.reason})"
    return f"{told}; to crawl there: siteatlas crawl {ended.target}" if ended.target else told


def writer(plan: Plan, destination: Directory) -> SitemapWriter:
    """The writer of the plan's sitemap. UsageError when there can be none with these settings.

    Raises sitemap.DestinationError when the destination cannot be written to.
    """
    output = plan.config.output
    options = WriterOptions(
        gzip=output.gzip,
        max_urls=output.max_urls,
        max_bytes=output.max_bytes,
        group=_GROUPS.get(output.group),
        child=output.file_names,
        stylesheet=output.stylesheet,
        vouched=lambda loc: plan.scope.needs_cross_submit(Url(loc)),
    )
    try:
        return SitemapWriter(destination, plan.sitemap_url, options)
    except DestinationError:
        raise
    except SitemapError as error:
        option = "--file-names: " if output.file_names and output.file_names in str(error) else ""
        raise UsageError(f"{option}{error}") from error


def _write(plan: Plan, entries: "Entries", destination: Directory, listed: Listed) -> tuple[FileFacts, ...]:
    with writer(plan, destination) as target:
        for entry in entries:
            try:
                target.add(entry)
            except InvalidEntry as error:
                listed.note(Url(entry.loc), f"not listed: {error.reason}")
            except LimitExceeded as error:
                raise UsageError(f"{error}; the crawl is saved, run again with other settings") from error
            else:
                listed.count(entry)
        return tuple(reversed(target.finish().files))


class Entries:
    """The entries of a crawl in byte order of URL, each valid as it stands."""

    def __init__(self, frontier: Frontier, content: Content, output: Output, listed: Listed) -> None:
        self._frontier = frontier
        self._content = content
        self._output = output
        self._listed = listed

    def __iter__(self) -> Iterator[Entry]:
        for record in self._frontier.records(State.INDEXABLE):
            if record.reason:  # listed, and yet there is something to say
                self._listed.note(record.url, record.reason)
            yield self._entry(record)

    def _entry(self, record: Record) -> Entry:
        content, output, url = self._content, self._output, record.url
        images = [Image(loc) for loc in record.images] if content.images else []
        videos = record.videos if content.videos else []
        alternates = record.alternates if content.alternates else []
        return Entry(
            loc=url,
            lastmod=record.lastmod,
            changefreq=output.changefreq,
            priority=output.priority,
            images=tuple(each for each in images if self._stands(url, image_fault(each))),
            videos=tuple(each for each in videos if self._stands(url, video_fault(each, url))),
            alternates=tuple(each for each in alternates if self._alternate_stands(url, each)),
        )

    def _stands(self, url: Url, fault: str) -> bool:
        if fault:
            self._listed.note(url, f"left out of the entry: {fault}")
        return not fault

    def _alternate_stands(self, url: Url, alternate: Alternate) -> bool:
        """Not when this crawl knows better: a page that is gone or noindexed is no alternate."""
        known = (State.INDEXABLE, State.OUT_OF_SCOPE, State.PENDING)
        other = self._frontier.verdict_of(Url(alternate.href))
        if other and other.state not in known:
            return False
        return self._stands(url, alternate_fault(alternate))
