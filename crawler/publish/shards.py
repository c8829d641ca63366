"""Assigns each page of a set to a file: the one it was in, else one that has room, by the sitemap's Assignment.

::

    listing.by_url | assignment.keep | assignment.place | assignment.repack, place | listing.assign_files
"""

from crawler.errors import UsageError
from crawler.model import ListedPage
from crawler.publish.entries import EntryBuilder, EntryCounts
from crawler.publish.listing import Listing
from sitemap import Assignment, InvalidEntry, LimitExceeded


class ShardAssigner:
    """Assigns the pages of one listing. A page that no sitemap can list is noted and removed."""

    def __init__(self, listing: Listing, entries: EntryBuilder, assignment: Assignment, tally: EntryCounts) -> None:
        self._listing = listing
        self._entries = entries
        self._assignment = assignment
        self._tally = tally

    def assign_shards(self) -> None:
        """Assign every page to a file. Raises UsageError when there are too many files, StorageError."""
        try:
            for pages in self._listing.by_url("l.shard IS NOT NULL"):
                self._keep_in_shard(pages)
            for pages in self._listing.by_url("l.shard IS NULL"):
                self._put_in_shard(pages)
            for group in self._assignment.repack():
                for pages in self._listing.by_url("l.grp = ?", group):
                    self._put_in_shard(pages)
        except LimitExceeded as error:
            raise UsageError(
                f"{error}. The results of the crawl are stored. Change the settings, and run the same command again"
            ) from error

    def _keep_in_shard(self, pages: list[ListedPage]) -> None:
        moved: list[tuple[str, int | None, int]] = []
        for page in pages:
            entry = self._entries.build(page)
            if not self._assignment.keep(entry, page.group, page.shard or 0):
                moved.append(("", None, page.id))
        self._listing.assign_files(moved)

    def _put_in_shard(self, pages: list[ListedPage]) -> None:
        assignments: list[tuple[str, int | None, int]] = []
        removed: list[int] = []
        for page in pages:
            try:
                group, number = self._assignment.place(self._entries.build(page))
            except InvalidEntry as error:
                self._tally.note(page.url, f"not listed: {error.reason}")
                removed.append(page.id)
            else:
                assignments.append((group, number, page.id))
        self._listing.assign_files(assignments)
        self._listing.remove(removed)
