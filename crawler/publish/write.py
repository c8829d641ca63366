"""Publishing what a run found: the pages are placed in files, written, checked and swapped in as a whole.

::

    gate.refusal | placing.place | listing.by_file | entries.entry | writer.add | writer.finish
"""

from collections.abc import Collection, Sequence

from crawler.config.config import OutputConfig
from crawler.config.plan import CrawlPlan
from crawler.errors import UsageError
from crawler.model import Url
from crawler.publish.entries import EntryBuilder, EntryCounts
from crawler.publish.listing import Listing
from crawler.publish.shards import ShardAssigner
from crawler.state.runs import PublishedFile, Run
from sitemap import (
    Assignment,
    DestinationError,
    Directory,
    FileFacts,
    InvalidEntry,
    Published,
    SitemapError,
    SitemapWriter,
    WriterOptions,
    by_language,
    by_section,
    by_type,
    is_stamp,
)

_GROUPING = {"section": by_section(), "language": by_language(), "type": by_type()}


def build_destination(plan: CrawlPlan) -> Directory:
    """Where the plan's sitemap goes, and how. UsageError for files that their owner could not read."""
    output = plan.config.output
    try:
        return Directory(
            plan.output, mode=int(output.mode, 8), settle=output.swap_delay, grace=output.grace_period
        )
    except SitemapError as error:
        raise UsageError(str(error)) from error


def writer_options(plan: CrawlPlan, today: str = "") -> WriterOptions:
    """How the plan's sitemap is written. ``today`` is the day of the run, W3C."""
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
    """The writer of the plan's sitemap. UsageError when there can be none with these settings.

    Raises sitemap.DestinationError when the destination cannot be written to.
    """
    output = plan.config.output
    try:
        return SitemapWriter(destination, plan.sitemap_url, writer_options(plan, today))
    except DestinationError:
        raise
    except SitemapError as error:
        option = "--file-names: " if output.file_names and output.file_names in str(error) else ""
        raise UsageError(f"{option}{error}") from error


def assign_shards(plan: CrawlPlan, listing: Listing, entries: EntryBuilder, tally: EntryCounts) -> None:
    """Give every page of the listing its file. Raises UsageError, StorageError."""
    assignment = Assignment(plan.sitemap_url, writer_options(plan))
    ShardAssigner(listing, entries, assignment, tally).assign_shards()


def count_entries(listing: Listing, entries: EntryBuilder) -> None:
    """Count what would be written."""
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
    """Publish the pages of the listing, and remember in it what their files are called.

    ``former`` are the names of the files out there: what the set does not have any more leaves, however it was called.
    Raises sitemap.DestinationError when the files cannot be written; what was published before then stays.
    """
    with build_writer(plan, destination, today) as target:
        for listed in listing.by_file():
            entry = entries.build(listed)
            try:
                target.add(entry, listed.shard or 0)
            except InvalidEntry as error:  # it was placed, so that this cannot be
                raise AssertionError(str(error)) from error
            entries.count(listed, entry)
        published = target.finish(former)
    listing.name_files((file.name, file.group, file.shard) for file in published.files if file.shard)
    return published


def published_files(published: Published) -> list[PublishedFile]:
    """The files of a set as they are recorded, the one that leads to the others first."""
    return [
        PublishedFile(file.name, file.url, file.entries, file.stored) for file in reversed(published.files)
    ]


def moved_note(before: Run | None, published: Published) -> tuple[str, ...]:
    """What there is to say when a set has another address than that before: one file that is packed, or an index."""
    if before is None or before.sitemap_url == published.url:
        return ()
    told = (
        f"the address of the sitemap moved from {before.sitemap_url} to {published.url}: name that one in robots.txt "
        f"(siteatlas robots says how) and wherever else the old one is known, as in Search Console"
    )
    return (told,)


def build_date_note(listing: Listing, policy: str) -> tuple[str, ...]:
    """What there is to say of dates that are those of a build, by the rule of the lint; ``policy`` made them."""
    common, times, total = listing.commonest_date()
    if not is_stamp(common, times, total):
        return ()
    share = f"all {total:,}" if times == total else f"{times:,} of {total:,}"
    told = (
        f"{share} lastmods are {common}, the time of a build, it seems, and tell nobody what was edited: "
        f"--lastmod {'none' if policy == 'page' else 'page or none'} leaves them out"
    )
    return (told,)


def unused_settings_note(output: OutputConfig, files: Sequence[FileFacts]) -> tuple[str, ...]:
    """What the settings for many files have to say of one."""
    named = [
        name for name, value in (("--group", output.group), ("--file-names", output.file_names)) if value
    ]
    if len(files) > 1 or not named:
        return ()
    return (f"{' and '.join(named)} changed nothing: all pages are in one file, and there is no index",)
