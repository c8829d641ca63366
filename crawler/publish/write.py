"""Publishes the set of a run: assigns pages to files, writes and checks the files, and swaps them in as a whole.

::

    gate | assign shards | listing.by_file | entries.build | writer.add | writer.finish
"""

import hashlib
import os
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from crawler.config.config import Config, OutputConfig
from crawler.config.plan import CrawlPlan, plan_crawl
from crawler.errors import NEXT_RUN, SiteatlasError, StorageError, UsageError
from crawler.model import Url
from crawler.publish.entries import EntryBuilder, EntryCounts
from crawler.publish.listing import Listing
from crawler.publish.shards import ShardAssigner
from crawler.state.database import storage_errors
from crawler.state.lock import RUN_LEASE
from crawler.state.runs import PublishedFile, Run, RunStore
from crawler.state.schema import STATE_DB
from crawler.state.store import GENERATIONS_DIRECTORY, OUTPUT_KEY, Store, read_about, write_about
from crawler.units import names_text
from sitemap import (
    Assignment,
    DestinationError,
    Directory,
    FileFacts,
    Generations,
    InvalidEntry,
    Published,
    SitemapError,
    SitemapWriter,
    WriterOptions,
    by_language,
    by_section,
    by_type,
)

_GROUPING = {"section": by_section(), "language": by_language(), "type": by_type()}

_TOLD_KEY: Final = "told_counts"
_DIGESTS_KEY: Final = "digests"


def build_destination(plan: CrawlPlan) -> Directory:
    """The destination of the plan's sitemap. UsageError for file modes that the owner cannot read."""
    output = plan.config.output
    try:
        return Directory(
            plan.output,
            mode=int(output.mode, 8),
            settle=output.swap_delay,
            grace=output.grace_period,
            guard=RUN_LEASE.check,
        )
    except SitemapError as error:
        raise UsageError(str(error)) from error


def sitemap_names(plan: CrawlPlan) -> list[str]:
    """The names that the leading file may have in the output directory: plain or compressed."""
    plain = plan.sitemap_url.partition("?")[0].rpartition("/")[2].removesuffix(".gz")
    return [plain, f"{plain}.gz"]


def check_output_is_ours(plan: CrawlPlan, store: Store) -> None:
    """Raises UsageError when the output directory has a sitemap that no run of this state wrote."""
    if found := _foreign_sitemap(plan, store.db):
        raise UsageError(
            f"{found} already exists, and Siteatlas did not write it with this state. If the state was lost, "
            "restore its backup: without it, all pages are dated anew. To overwrite the file, "
            f"{NEXT_RUN.having('--replace')}. Or choose another directory for the sitemap (-o, output.directory)"
        )


def existing_sitemap(plan: CrawlPlan) -> Path | None:
    """The leading file in the output directory, whoever wrote it; None without one."""
    paths = (plan.output / name for name in sitemap_names(plan))
    return next((path for path in paths if os.path.lexists(path)), None)


GONE: Final = "the earlier sitemap"


class LostFiles(NamedTuple):
    """The names of published files that the output directory lacks, and of those that somebody changed since."""

    missing: Sequence[str] = ()
    changed: Sequence[str] = ()


def lost_files(plan: CrawlPlan) -> LostFiles:
    """What became of the published files in the directory that the last run wrote to: nothing in another directory.

    Nor if they are uploaded. Raises StorageError, UsageError.
    """
    if plan.config.upload.to or not STATE_DB.is_in(plan.state):
        return LostFiles()
    with STATE_DB.reading(plan.state) as db:
        digests, run = PublishedDigests(db, plan.output), RunStore(db).published()
        if not (digests.is_last and run):
            return LostFiles()
        missing = [file.name for file in run.files if not os.path.lexists(plan.output / file.name)]
        return LostFiles(missing, digests.changed())


def restore_gone(plan: CrawlPlan, *, may_write: bool = False) -> str:
    """Tell what became of the sitemap of an earlier run, as the rest of a sentence; "" if all its files are there.

    ``may_write``: what is gone is published again in a directory that has other files, as after a build. An empty one
    may be the place of a disk that is not mounted. A file that somebody else wrote stays: it may be there on purpose.
    """
    try:
        missing, changed = lost_files(plan)
        number = copy_of_published(plan) if missing or changed else None
    except SiteatlasError:
        return ""
    place = plan.output.absolute()
    remedy = "" if number is None else f" (siteatlas rollback --to {number} publishes it again)"
    if changed:
        return f"; in {place}, {names_text(changed)} changed since {GONE} was written{remedy}"
    if not missing:
        return ""
    what = f"a part of {GONE}" if existing_sitemap(plan) else GONE
    with suppress(SiteatlasError, OSError):
        if may_write and any(plan.output.iterdir()) and _restore_copy(plan):
            return f"; {what} was gone from {place}, and is there again"
    return f"; {what} is gone from {place}{remedy}"


def copies(plan: CrawlPlan) -> Generations:
    """The copies of the last published sets."""
    return Generations(plan.state / GENERATIONS_DIRECTORY, plan.config.output.generations)


def copy_of_published(plan: CrawlPlan) -> int | None:
    """The number of the copy of the published set; None if there is none that can be read. Raises StorageError."""
    if not STATE_DB.is_in(plan.state):
        return None
    with STATE_DB.reading(plan.state) as db:
        run = RunStore(db).published()
    kept = copies(plan)
    for number in reversed(kept.numbers() if run else []):
        with suppress(SitemapError):
            if run and published_files(kept.published(number)) == run.files:
                return number
    return None


def put_back_published(plan: CrawlPlan) -> bool:
    """Publish the set of the state again, from its copy, when the output directory has none; whether that was done.

    So visitors have a sitemap after a build or a deploy that deleted it, and an upload has its files on a machine that
    runs a site for the first time. What is there already stays: on a shared disk it is the published set. Raises
    StorageError, UsageError.
    """
    return not existing_sitemap(plan) and _restore_copy(plan)


def _restore_copy(plan: CrawlPlan) -> bool:
    """Publish the copy of the published set; whether there is one. Raises StorageError, UsageError."""
    try:
        if (number := copy_of_published(plan)) is not None:
            copies(plan).restore(number, build_destination(plan))
    except SitemapError as error:
        raise StorageError(str(error)) from error
    return number is not None


def foreign_sitemap(config: Config) -> Path | None:
    """The sitemap in the output directory that no run of the site's state wrote; None if that cannot be known."""
    with suppress(SiteatlasError):
        plan = plan_crawl(config)
        if not STATE_DB.is_in(plan.state):
            return existing_sitemap(plan)
        with STATE_DB.reading(plan.state) as db:
            return _foreign_sitemap(plan, db)
    return None


def _foreign_sitemap(plan: CrawlPlan, db: sqlite3.Connection) -> Path | None:
    with storage_errors():
        has_published = db.execute("SELECT 1 FROM published LIMIT 1").fetchone() is not None
        is_ours = has_published or read_about(db, OUTPUT_KEY) == str(plan.output.resolve())
    return None if is_ours else existing_sitemap(plan)


class PublishedDigests:
    """The digests of the published files, in the state, so that a change by somebody else is noticed.

    Also the directory of the files: a run may be killed after it wrote them and before it recorded that.
    """

    def __init__(self, db: sqlite3.Connection, directory: Path) -> None:
        self._db = db
        self._directory = directory
        self._told: dict[str, int] = {}

    @property
    def is_last(self) -> bool:
        """Whether the last run of this state wrote to the directory."""
        with storage_errors():
            return read_about(self._db, OUTPUT_KEY) == str(self._directory.resolve())

    def begin(self) -> None:
        """Store, before the files are written, that this state writes to the directory.

        Part of the caller's transaction. Raises StorageError.
        """
        with storage_errors():
            write_about(self._db, OUTPUT_KEY, str(self._directory.resolve()))

    def store(self, names: Iterable[str]) -> None:
        """Store the digests of the files of these names, and the notes that :meth:`is_told` has met.

        Part of the caller's transaction. Raises StorageError.
        """
        known = self._known()
        with storage_errors():
            digests = msgspec.json.encode({name: self._digest(name, known) for name in names})
            write_about(self._db, _DIGESTS_KEY, digests.decode())
            if self._told:
                write_about(self._db, _TOLD_KEY, msgspec.json.encode(self._told).decode())

    def directory_note(self) -> tuple[str, ...]:
        """A note if the last run of this state wrote to another directory, which is still there."""
        here = str(self._directory.resolve())
        with storage_errors():
            before = read_about(self._db, OUTPUT_KEY) or here
        if before == here or not Path(before).is_dir():
            return ()
        note = f"the last run of this state wrote to {before}, and the next run there continues from this one"
        return (f"{note}. For a try of its own, give it a state of its own (--state DIR)",)

    def changed(self) -> list[str]:
        """The names of the files that differ from what was published, sorted. Raises StorageError."""
        known = self._known()
        return sorted(name for name, digest in known.items() if self._digest(name, known)[2] not in ("", digest[2]))

    def changed_note(self, generator: str = "", page: str = "", writes: Collection[str] = ()) -> tuple[str, ...]:
        """A note on the files that differ from what was published; once if each build of a generator writes them.

        ``page`` is that of the manual about the ``generator``, ``writes`` the files of a sitemap that its builds write.
        Raises StorageError.
        """
        changed = self.changed()
        if not changed:
            return ()
        names, verb = names_text(changed), "was" if len(changed) == 1 else "were"
        if not {*changed} <= {*writes}:
            return (f"{names} {verb} changed by somebody else since the last run; this run replaces such changes",)
        stale = [name for name in writes if name not in self._known() and (self._directory / name).is_file()]
        remove = f", and remove {stale[0]}, which stays that of {generator}" if stale else ""
        note = f"each build of {generator} writes {names}: run Siteatlas after each build{remove}"
        return () if self.is_told(generator, len(changed)) else (f"{note}. siteatlas manual setups/{page} shows how",)

    def deleted_note(self) -> tuple[str, bool]:
        """A note on published files that are gone from a directory that has others, such as a deploy leaves it.

        And whether an earlier run told the same, or there is nothing to tell (""). Raises StorageError.
        """
        is_there = self.is_last and any(self._directory.iterdir())
        names = [name for name in self._known() if is_there and not os.path.lexists(self._directory / name)]
        is_told = self.is_told("deleted", len(names))
        if not names:
            return "", True
        said = names[0] if len(names) == 1 else f"{len(names):,} files of the sitemap, such as {names[0]},"
        verb = "was" if len(names) == 1 else "were"
        note = f"{said} {verb} deleted since the last run, for example by a deploy; this run writes what is missing"
        note = f"{note}. If a deploy empties {self._directory}, run Siteatlas after each deploy"
        return note, is_told

    def is_told(self, kind: str, count: int) -> bool:
        """Whether an earlier run told of as many of a ``kind``, or there are none; known from :meth:`store` on.

        A set that shrinks is no news, also when it grows back; one that was empty in between is.
        """
        with storage_errors():
            told = msgspec.json.decode(read_about(self._db, _TOLD_KEY) or "{}", type=dict[str, int])
        before = told.get(kind, 0)
        self._told = told | self._told | {kind: count and max(before, count)}
        return count <= before

    def _known(self) -> dict[str, tuple[int, int, str]]:
        with storage_errors():
            return msgspec.json.decode(read_about(self._db, _DIGESTS_KEY) or "{}", type=dict[str, tuple[int, int, str]])

    def _digest(self, name: str, known: Mapping[str, tuple[int, int, str]]) -> tuple[int, int, str]:
        """Modification time in nanoseconds, size in bytes and SHA-256 of a file; "" for one that cannot be read."""
        try:
            with (self._directory / name).open("rb") as file:
                status = os.fstat(file.fileno())
                before = known.get(name)
                if before and before[:2] == (status.st_mtime_ns, status.st_size):
                    return before
                return status.st_mtime_ns, status.st_size, hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return 0, 0, ""


def writer_options(plan: CrawlPlan, today: str = "") -> WriterOptions:
    """The writer options of the plan's sitemap. ``today`` is the day of the run, W3C."""
    output = plan.config.output
    return WriterOptions(
        gzip=output.gzip,
        max_urls=output.max_urls,
        max_bytes=output.max_bytes,
        group=_GROUPING.get(output.group),
        child=output.file_names,
        stylesheet=output.stylesheet,
        vouched=lambda loc: plan.scope.needs_cross_submit(Url(loc)),
        today=today,
    )


def build_writer(plan: CrawlPlan, destination: Directory, today: str = "") -> SitemapWriter:
    """The writer of the plan's sitemap. UsageError for settings that no sitemap can have.

    Raises sitemap.DestinationError when the destination cannot be written to.
    """
    output = plan.config.output
    try:
        return SitemapWriter(destination, plan.sitemap_url, writer_options(plan, today))
    except DestinationError:
        raise
    except SitemapError as error:
        option = "output.file_names: " if output.file_names and output.file_names in str(error) else ""
        raise UsageError(f"{option}{error}") from error


def assign_shards(plan: CrawlPlan, listing: Listing, entries: EntryBuilder, tally: EntryCounts) -> None:
    """Assign every page of the listing to a file. Raises UsageError, StorageError."""
    assignment = Assignment(plan.sitemap_url, writer_options(plan))
    ShardAssigner(listing, entries, assignment, tally).assign_shards()


def count_entries(listing: Listing, entries: EntryBuilder) -> None:
    """Count the entries of a dry run."""
    for listed in listing.by_file():
        entries.count(listed, entries.build(listed))


def write_sitemap(
    plan: CrawlPlan,
    listing: Listing,
    entries: EntryBuilder,
    destination: Directory,
    today: str,
    former: Collection[str] = (),
) -> Published:
    """Publish the pages of the listing, and store the names of its files.

    ``former`` are the names of the published files: those that the new set lacks are removed. Raises
    sitemap.DestinationError when the files cannot be written; the published set stays then.
    """
    with build_writer(plan, destination, today) as writer:
        for listed in listing.by_file():
            entry = entries.build(listed)
            try:
                writer.add(entry, listed.shard or 0)
            except InvalidEntry as error:  # it was assigned to a file, so it is valid
                raise AssertionError(str(error)) from error
            entries.count(listed, entry)
        published = writer.finish(former)
    listing.name_files((file.name, file.group, file.shard) for file in published.files if file.shard)
    return published


def published_files(published: Published) -> list[PublishedFile]:
    """The records of a set's files, the index or only file first."""
    return [PublishedFile(file.name, file.url, file.entries, file.stored) for file in reversed(published.files)]


def moved_note(before: Run | None, published: Published) -> tuple[str, ...]:
    """A note when the URL of the sitemap changed: between one gzip file and plain, or to an index."""
    if before is None or before.sitemap_url == published.url:
        return ()
    note = (
        f"the URL of the sitemap changed from {before.sitemap_url} to {published.url}: replace the old URL in "
        f"robots.txt (siteatlas robots shows how) and in places such as Search Console"
    )
    return (note,)


def lost_dates_note(listing: Listing, policy: str) -> tuple[str, ...]:
    """A note when pages that did not change get an earlier lastmod than before or none; ``policy`` made the dates."""
    if not (count := listing.lost_dates(policy)):
        return ()
    changed = "page that did not change has" if count == 1 else "pages that did not change have"
    return (f"{count:,} {changed} an earlier lastmod than before, or none (--lastmod {policy})",)


def disbelieved_note(listing: Listing, policy: str) -> tuple[str, ...]:
    """A note when new pages get no lastmod although the server states one; ``policy`` made the dates."""
    if not (count := listing.disbelieved(policy)):
        return ()
    have = "new page has no lastmod, because its" if count == 1 else "new pages have no lastmod, because their"
    when = "It gets one when it changes" if count == 1 else "Each gets one when it changes"
    remedy = f"{when}. To have one now, let the page state a date, such as article:modified_time"
    return (f"{count:,} {have} Last-Modified is not believed (siteatlas why URL says why). {remedy}",)


def lost_links_note(listing: Listing) -> tuple[str, ...]:
    """A note when pages leave that do not exist any more, although pages link to them: this run tells it, no other."""
    count, first = listing.lost_links()
    more = f" and {count - 1:,} more" if count > 1 else ""
    note = (
        f"links still lead to {first}{more}, which the site does not have any more (siteatlas why URL names the pages)"
    )
    return (note,) if count else ()


def unlinked_note(listing: Listing) -> tuple[int, str]:
    """How many listed pages only a sitemap names, and a note on them: a build may have left them behind."""
    count, first = listing.unlinked()
    pages = "1 listed page" if count == 1 else f"{count:,} listed pages"
    note = (
        f"only a sitemap names {pages}, such as {first}: no page that was read links there. Remove what should be gone"
    )
    return count, note


def copies_note(listing: Listing) -> tuple[int, str]:
    """How many listed pages are the same document as another, and a note: such as a directory and its index.html."""
    count, first, last = listing.copies()
    are = "page is an exact copy" if count == 1 else "pages are exact copies"
    remedy = "Name one of them as the canonical, or redirect the other"
    return count, f"{count:,} listed {are} of another one, such as {last} of {first}. {remedy}"


def undated_note(listing: Listing, policy: str) -> tuple[int, str]:
    """Whether no listed page has a lastmod, and a note on that; ``policy`` makes the dates."""
    is_new = len(listing) and policy != "none" and not (listing.is_dated or listing.disbelieved(policy))
    names = "dateModified, article:modified_time or og:updated_time; <time> does not count"
    names = "Last-Modified" if policy == "header" else names
    later = "" if policy in {"header", "page"} else ". Siteatlas dates each page when it sees that it changed"
    return int(is_new), f"no page has a lastmod, because none states when it was last changed ({names}){later}"


def build_date_note(listing: Listing, policy: str) -> tuple[str, ...]:
    """A note when most lastmods are the time of a build, by the lint rule; ``policy`` made them."""
    dates, count, total = listing.build_dates()
    if not dates:
        return ()
    named = "lastmods not from Git" if policy == "git" else "lastmods"
    share = f"all {total:,}" if count == total else f"{count:,} of {total:,}"
    better = {"git": "page", "page": "observed or git", "header": "observed, git or page"}.get(policy, "git or page")
    note = f"{share} {named} {dates}, like those of a build. See --lastmod {better} in siteatlas manual lastmod"
    return (note,)


def unused_settings_note(output: OutputConfig, files: Sequence[FileFacts]) -> tuple[str, ...]:
    """A note when a single file leaves settings for several files without effect."""
    unused = [name for name, value in (("--group", output.group), ("output.file_names", output.file_names)) if value]
    if len(files) > 1 or not unused:
        return ()
    return (f"{' and '.join(unused)} had no effect: all pages are in one file, without an index",)
