"""Builds the sitemap entry of each listed page, valid as it stands, and notes what it leaves out."""

from collections.abc import Callable
from dataclasses import dataclass, field

from crawler.config.config import ContentConfig, OutputConfig
from crawler.model import ListedPage, State, Url, Verdict
from sitemap import Alternate, Entry, Image, alternate_fault, image_fault, video_fault

MAX_NOTES = 20  # different notes
_ALTERNATE_STATES = (State.INDEXABLE, State.OUT_OF_SCOPE, State.PENDING)

VerdictOf = Callable[[Url], Verdict | None]


@dataclass(slots=True)
class EntryCounts:
    """Counts of what the entries hold, and notes on what was left out of them."""

    pages: int = 0
    with_lastmod: int = 0
    images: int = 0
    videos: int = 0
    alternates: int = 0
    odd: dict[str, tuple[int, Url]] = field(default_factory=dict)  # note: number of pages, the first one

    def count(self, entry: Entry) -> None:
        """Count one entry."""
        self.pages += 1
        self.with_lastmod += bool(entry.lastmod)
        self.images += len(entry.images)
        self.videos += len(entry.videos)
        self.alternates += len(entry.alternates)

    def note(self, url: Url, text: str) -> None:
        """Note a problem of a page."""
        count, first = self.odd.get(text, (0, url))
        if count or len(self.odd) < MAX_NOTES:
            self.odd[text] = (count + 1, first)

    @property
    def notes(self) -> list[str]:
        """The problems, each once."""
        return [
            f"{text} ({count:,} pages, the first {first})" if count > 1 else f"{text} ({first})"
            for text, (count, first) in self.odd.items()
        ]


class EntryBuilder:
    """Builds entries. ``verdict_of`` returns the verdict of the run on a URL; problems are noted in ``tally``."""

    def __init__(self, content: ContentConfig, output: OutputConfig, verdict_of: VerdictOf, tally: EntryCounts) -> None:
        self._content = content
        self._output = output
        self._verdict_of = verdict_of
        self._tally = tally

    def build(self, listed: ListedPage) -> Entry:
        """The entry of a page. The same page always gives the same entry."""
        content, output, url = self._content, self._output, listed.url
        images = [Image(loc) for loc in listed.images] if content.images else []
        videos = listed.videos if content.videos else []
        alternates = listed.alternates if content.alternates else []
        return Entry(
            loc=url,
            lastmod=listed.lastmod,
            changefreq=output.changefreq,
            priority=output.priority,
            images=tuple(image for image in images if not image_fault(image)),
            videos=tuple(video for video in videos if not video_fault(video, url)),
            alternates=tuple(filter(self._is_valid_alternate, alternates)),
        )

    def count(self, listed: ListedPage, entry: Entry) -> None:
        """Count a written entry, and note what it leaves out."""
        tally, url = self._tally, listed.url
        tally.count(entry)
        if listed.reason:
            tally.note(url, listed.reason)
        content = self._content
        if content.images and len(entry.images) < len(listed.images):
            self._note(url, [image_fault(Image(loc)) for loc in listed.images])
        if content.videos and len(entry.videos) < len(listed.videos):
            self._note(url, [video_fault(video, url) for video in listed.videos])
        if content.alternates and len(entry.alternates) < len(listed.alternates):
            self._note(url, list(map(alternate_fault, listed.alternates)))

    def _note(self, url: Url, faults: list[str]) -> None:
        for fault in filter(None, faults):
            self._tally.note(url, f"left out of the entry: {fault}")

    def _is_valid_alternate(self, alternate: Alternate) -> bool:
        """Not when this run knows that the page is gone or noindex."""
        verdict = self._verdict_of(Url(alternate.href))
        return (verdict is None or verdict.state in _ALTERNATE_STATES) and not alternate_fault(alternate)
