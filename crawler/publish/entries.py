"""Builds the sitemap entry of each listed page, valid as it stands, and notes what it leaves out."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from crawler.config.config import ContentConfig, OutputConfig
from crawler.model import ListedPage, State, Url, Verdict
from sitemap import Alternate, Entry, Image, alternate_fault, image_fault, video_fault

MAX_NOTES = 20  # different notes
_ALTERNATE_STATES = (State.INDEXABLE, State.OUT_OF_SCOPE, State.PENDING)

VerdictOf = Callable[[Url], Verdict | None]

MIN_IMAGE_PAGES: Final = 3
"""Fewer pages than this may share a picture of theirs, however small the site is."""
_STAY: Final = 0.8
"""Share of the limit above which an image remains one of the site, so that none comes and goes around the limit."""


def find_site_images(pages: Iterable[Collection[str]], before: Collection[str], share: float) -> frozenset[str]:
    """The images that more than ``share`` of some pages have, such as a logo: these belong to the site.

    ``pages`` are the images of each page, and ``before`` those that belonged to the site in the last run.
    """
    counts: Counter[str] = Counter()
    total = 0
    for images in pages:
        counts.update(images)
        total += 1
    return frozenset(
        image
        for image, count in counts.items()
        if count >= MIN_IMAGE_PAGES and count > total * share * (_STAY if image in before else 1)
    )


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
    """Builds entries. ``verdict_of`` returns the verdict of the run on a URL; problems are noted in ``tally``.

    Only the page at the URL ``start`` lists the ``site_images``.
    """

    def __init__(self, content: ContentConfig, output: OutputConfig, verdict_of: VerdictOf, tally: EntryCounts) -> None:
        self._content = content
        self._output = output
        self._verdict_of = verdict_of
        self._tally = tally
        self.start = Url("")
        self.site_images: frozenset[str] = frozenset()

    def build(self, listed: ListedPage) -> Entry:
        """The entry of a page. The same page always gives the same entry."""
        content, output, url = self._content, self._output, listed.url
        images = list(map(Image, self._own_images(listed))) if content.images else []
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
            self._note(url, [image_fault(Image(loc)) for loc in self._own_images(listed)])
        if content.videos and len(entry.videos) < len(listed.videos):
            self._note(url, [video_fault(video, url) for video in listed.videos])
        if content.alternates and len(entry.alternates) < len(listed.alternates):
            self._note(url, list(map(alternate_fault, listed.alternates)))

    def _own_images(self, listed: ListedPage) -> list[str]:
        site = self.site_images if listed.url != self.start else ()
        return [loc for loc in listed.images if loc not in site] if site else listed.images

    def _note(self, url: Url, faults: list[str]) -> None:
        for fault in filter(None, faults):
            self._tally.note(url, f"left out of the entry: {fault}")

    def _is_valid_alternate(self, alternate: Alternate) -> bool:
        """Not when this run knows that the page is gone or noindex."""
        verdict = self._verdict_of(Url(alternate.href))
        return (verdict is None or verdict.state in _ALTERNATE_STATES) and not alternate_fault(alternate)
