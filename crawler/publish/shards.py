"""Which file each page of a set goes to: the one it was in, else one that has room. Asks the sitemap's assignment.

::

    listing.by_url | assignment.keep | assignment.place | assignment.repack, place | listing.place
"""

from crawler.errors import UsageError
from crawler.model import ListedPage
from crawler.publish.entries import EntryBuilder, EntryCounts
from crawler.publish.listing import Listing
from sitemap import Assignment, InvalidEntry, LimitExceeded


class ShardAssigner:
    """Places the pages of one listing. What no sitemap can list is noted and taken out."""

    def __init__(
        self, listing: Listing, entries: EntryBuilder, assignment: Assignment, tally: EntryCounts
    ) -> None:
        self._listing = listing
        self._entries = entries
        self._assignment = assignment
        self._tally = tally

    def assign_shards(self) -> None:
        """Give every page its file. Raises UsageError when there are too many files, StorageError."""
        try:
            for some in self._listing.by_url("l.shard IS NOT NULL"):
                self._keep_in_shard(some)
            for some in self._listing.by_url("l.shard IS NULL"):
                self._put_in_shard(some)
            for group in self._assignment.repack():
                for some in self._listing.by_url("l.grp = ?", group):
                    self._put_in_shard(some)
        except LimitExceeded as error:
            raise UsageError(f"{error}; the crawl is saved, run again with other settings") from error

    def _keep_in_shard(self, some: list[ListedPage]) -> None:
        moving: list[tuple[str, int | None, int]] = []
        for listed in some:
            entry = self._entries.build(listed)
            if not self._assignment.keep(entry, listed.group, listed.shard or 0):
                moving.append(("", None, listed.id))
        self._listing.assign_files(moving)

    def _put_in_shard(self, some: list[ListedPage]) -> None:
        places: list[tuple[str, int | None, int]] = []
        out: list[int] = []
        for listed in some:
            try:
                group, number = self._assignment.place(self._entries.build(listed))
            except InvalidEntry as error:
                self._tally.note(listed.url, f"not listed: {error.reason}")
                out.append(listed.id)
            else:
                places.append((group, number, listed.id))
        self._listing.assign_files(places)
        self._listing.remove(out)
