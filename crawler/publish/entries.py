"""The entries of a run: what the sitemap says of each listed page, valid as it stands, and what was left out of it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from crawler.config.config import ContentConfig, OutputConfig
from crawler.model import ListedPage, State, StatusBadge, Url
from sitemap import Alternate, Entry, Image, alternate_fault, image_fault, video_fault

MAX_NOTES = 20  # different things that are odd
_ALTERNATE_STATES = (State.INDEXABLE, State.OUT_OF_SCOPE, State.PENDING)

VerdictOf = Callable[[Url], StatusBadge | None]


@dataclass(slots=True)
class EntryCounts:
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


class EntryBuilder:
    """Makes entries. ``verdict_of`` tells where the run saw a URL end; what is odd is noted in ``tally``."""

    def __init__(
        self, content: ContentConfig, output: OutputConfig, verdict_of: VerdictOf, tally: EntryCounts
    ) -> None:
        self._content = content
        self._output = output
        self._verdict_of = verdict_of
        self._tally = tally

    def build(self, listed: ListedPage) -> Entry:
        """What the sitemap says of a page. The same page gives the same entry, as often as it is asked for."""
        content, output, url = self._content, self._output, listed.url
        images = [Image(loc) for loc in listed.images] if content.images else []
        videos = listed.videos if content.videos else []
        alternates = listed.alternates if content.alternates else []
        return Entry(
            loc=url,
            lastmod=listed.lastmod,
            changefreq=output.changefreq,
            priority=output.priority,
            images=tuple(each for each in images if not image_fault(each)),
            videos=tuple(each for each in videos if not video_fault(each, url)),
            alternates=tuple(each for each in alternates if self._is_valid_alternate(each)),
        )

    def count(self, listed: ListedPage, entry: Entry) -> None:
        """Count an entry that was written, and note what there is to say about it."""
        tally, url = self._tally, listed.url
        tally.count(entry)
        if listed.reason:
            tally.note(url, listed.reason)
        content = self._content
        if content.images and len(entry.images) < len(listed.images):
            self._note(url, [image_fault(Image(loc)) for loc in listed.images])
        if content.videos and len(entry.videos) < len(listed.videos):
            self._note(url, [video_fault(each, url) for each in listed.videos])
        if content.alternates and len(entry.alternates) < len(listed.alternates):
            self._note(url, [alternate_fault(each) for each in listed.alternates])

    def _note(self, url: Url, faults: list[str]) -> None:
        for fault in filter(None, faults):
            self._tally.note(url, f"left out of the entry: {fault}")

    def _is_valid_alternate(self, alternate: Alternate) -> bool:
        """Not when this run knows better: a page that is gone or noindexed is no alternate."""
        other = self._verdict_of(Url(alternate.href))
        return (other is None or other.state in _ALTERNATE_STATES) and not alternate_fault(alternate)
