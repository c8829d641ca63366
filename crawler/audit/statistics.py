"""The statistics of an audit: states of URLs, depths, ages and inlinks of pages, and the sections of the site."""

import sqlite3
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from typing import Final

from crawler.audit.finding import HistogramBar, SiteSection
from crawler.audit.graph.graph import LinkGraph
from crawler.audit.graph.links import LinkKind
from crawler.audit.patterns import Segments
from crawler.model import DocumentKind, State
from crawler.state.database import storage_errors
from crawler.url.normalize import section_of
from sitemap import parse_date

MAX_SECTIONS: Final = 100  # those with the most pages; the others are summed up
OTHER_SECTIONS: Final = "other sections"
FAR_CLICKS: Final = 20  # clicks from which on pages are counted together
UNREACHABLE: Final = "unreachable"
_AGE_BARS: Final = (
    (7, "under a week"),
    (31, "under a month"),
    (92, "under 3 months"),
    (366, "under a year"),
    (1_096, "under 3 years"),
)
_INLINK_BARS: Final = ((1, "0"), (2, "1"), (6, "2 to 5"), (21, "6 to 20"), (101, "21 to 100"), (10**9, "over 100"))

_STATES: Final = f"""SELECT state, count(*) FROM visit WHERE kind = {int(DocumentKind.PAGE)} AND state !=
'{State.OUT_OF_SCOPE}'
  GROUP BY state ORDER BY 2 DESC"""  # noqa: S608
_STATUSES: Final = f"""SELECT status, count(*) FROM visit WHERE kind = {int(DocumentKind.PAGE)} AND status IS NOT NULL
  GROUP BY status ORDER BY status"""  # noqa: S608
_PAGES: Final = f"""SELECT v.id, u.url, v.lastmod FROM visit v JOIN url u ON u.id = v.id
  WHERE v.state = '{State.INDEXABLE}'"""  # noqa: S608


class Statistics:
    """Counts the tables of a finished crawl. ``now`` is Unix time. Raises StorageError.

    ``copies`` are ids of pages that are another spelling of one; they do not count as pages.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        graph: LinkGraph,
        now: float,
        copies: Container[int] = (),
        segments: Segments | None = None,
    ) -> None:
        with storage_errors():
            self.states = [HistogramBar(state, count) for state, count in db.execute(_STATES)]
            self.statuses = [HistogramBar(str(status), count) for status, count in db.execute(_STATUSES)]
            dates: Counter[str] = Counter()  # most pages of a build share theirs
            self._sections: Counter[str] = Counter()
            self.segments: Counter[str] = Counter()
            for number, url, lastmod in db.execute(_PAGES):
                if number in copies:
                    continue
                dates[lastmod] += 1
                self._sections[section_of(url)] += 1
                if segments:
                    self.segments[segments.of_url(url)] += 1
        ages: Counter[str] = Counter()
        for lastmod, count in dates.items():
            ages[_age_label(lastmod, now)] += count
        self.ages = _bars(ages, [*(label for _, label in _AGE_BARS), "older", "not known"])
        self.urls = sum(bar.count for bar in self.states)
        pages = _pages(graph, copies)
        depths = [graph.depth[node] for node in pages]
        self.pages = len(pages)
        self.reached = sum(depth >= 0 for depth in depths)
        self.depths = _depth_bars(depths)
        self.inlinks = _inlink_bars([graph.inlinks[node] for node in pages])

    def sections(self, orphans: Mapping[str, int], unlisted: Mapping[str, int]) -> list[SiteSection]:
        """The sections of the site, the largest first."""
        pages, orphans, unlisted = (self._merge_small(counts) for counts in (self._sections, orphans, unlisted))
        parts = [
            SiteSection(path, count, orphans[path], unlisted[path])
            for path, count in sorted(pages.items(), key=lambda item: (-item[1], item[0]))
        ]
        shown, rest = parts[:MAX_SECTIONS], parts[MAX_SECTIONS:]
        if rest:
            total = (sum(getattr(part, name) for part in rest) for name in ("pages", "orphans", "unlisted"))
            shown.append(SiteSection(f"{len(rest):,} more", *total))
        return shown

    def section_name(self, url: str) -> str:
        """The section of a URL, as :meth:`sections` names it; :data:`OTHER_SECTIONS` for one without pages."""
        path = section_of(url)
        pages = self._sections[path]
        return path if pages > 1 else "/" if pages or path == "/" else OTHER_SECTIONS

    def _merge_small(self, counts: Mapping[str, int]) -> Counter[str]:
        """The counts by section; sections of one page join that of the start: ``/about/`` is a page."""
        folded: Counter[str] = Counter()
        for path, count in counts.items():
            folded[path if self._sections[path] > 1 else "/"] += count
        return folded


def few_inlink_pages(graph: LinkGraph, copies: Container[int], few: int) -> tuple[int, int]:
    """How many linked pages have at most ``few`` inlinks, and how many linked pages there are."""
    linked = [
        node
        for node in _pages(graph, copies)
        if graph.ways[node] & LinkKind.FOLLOWED and graph.visitor_reachable[node] and node != graph.start
    ]
    return sum(graph.inlinks[node] <= few for node in linked), len(linked)


def _pages(graph: LinkGraph, copies: Container[int]) -> list[int]:
    """The nodes of the indexable pages, without copies."""
    found = enumerate(zip(graph.nodes.ids, graph.nodes.state, strict=True))
    return [node for node, (number, state) in found if state is State.INDEXABLE and number not in copies]


def _age_label(lastmod: str, now: float) -> str:
    changed = parse_date(lastmod)
    if changed is None:
        return "not known"
    days = (now - changed.instant().timestamp()) / 86_400
    return next((label for limit, label in _AGE_BARS if days < limit), "older")


def _bars(counts: Mapping[str, int], labels: Iterable[str]) -> list[HistogramBar]:
    return [HistogramBar(label, counts[label]) for label in labels if counts.get(label)]


def depth_label(depth: int) -> str:
    """A depth in clicks as the histogram has it; -1: :data:`UNREACHABLE`."""
    if depth < 0:
        return UNREACHABLE
    return f"{depth}" if depth < FAR_CLICKS else f"{FAR_CLICKS} and more"


def _depth_bars(depths: list[int]) -> list[HistogramBar]:
    counts = Counter(min(depth, FAR_CLICKS) for depth in depths)
    bars = [HistogramBar(depth_label(depth), counts[depth]) for depth in range(max(counts, default=-1) + 1)]
    return [*bars, HistogramBar(UNREACHABLE, counts[-1])] if counts.get(-1) else bars


def _inlink_bars(inlinks: list[int]) -> list[HistogramBar]:
    counts = Counter(next(label for limit, label in _INLINK_BARS if count < limit) for count in inlinks)
    return _bars(counts, (label for _, label in _INLINK_BARS))
