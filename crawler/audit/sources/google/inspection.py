"""The index status of pages by the URL Inspection API: which URLs to inspect, the requests, and the findings.

https://developers.google.com/webmaster-tools/v1/urlInspection.index/inspect. Google allows 2,000 inspections a day and
600 a minute for each property (https://developers.google.com/webmaster-tools/limits#url-inspection). Results are kept,
because an audit inspects only some pages.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from heapq import nsmallest
from pathlib import Path
from typing import Final

import anyio
import msgspec
from msgspec import Struct

from crawler.audit.finding import AuditFinding
from crawler.audit.sources.google.reader import ApiReader, ApiUnavailable, InspectionCache
from crawler.audit.sources.google.reports import inspection_api
from crawler.config.config import Config
from crawler.errors import UsageError
from crawler.model import State, Url
from crawler.units import count_text
from crawler.url.normalize import DEFAULT_PARAMS, InvalidUrl, normalize_url

UNINDEXED: Final = "google.unindexed"
CANONICAL: Final = "google.canonical"
RULES: Final = (UNINDEXED, CANONICAL)
UNINDEXED_AGE: Final = timedelta(days=7)
"""After so long, a page that was not in the index is inspected again ..."""
INDEXED_AGE: Final = timedelta(days=30)
"""... and after so long, one that was."""
_INDEXED: Final = "PASS"
_MINUTE: Final = 600  # inspections


class IndexStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """What Google knows of a URL: ``indexStatusResult`` of a response. ``day`` is that of the inspection (UTC)."""

    verdict: str = ""
    coverage_state: str = ""
    last_crawl_time: str = ""
    google_canonical: str = ""
    day: str = ""

    @property
    def is_indexed(self) -> bool:
        """Whether the URL is in the index."""
        return self.verdict == _INDEXED

    def is_due(self, today: date) -> bool:
        """Whether it is time to inspect the URL again."""
        age = INDEXED_AGE if self.is_indexed else UNINDEXED_AGE
        return today - date.fromisoformat(self.day) >= age


class _Result(Struct, rename="camel"):
    index_status_result: IndexStatus = IndexStatus()


class _Response(Struct, rename="camel"):
    inspection_result: _Result


class InspectionCandidate(Struct, frozen=True):
    """An indexable page. ``impressions`` are those in search results; ``is_orphan``: no links lead to it."""

    url: Url
    is_listed: bool
    is_orphan: bool
    impressions: int
    status: int | None = None
    title: str = ""


def choose_candidates(
    pages: Iterable[InspectionCandidate], known: Mapping[Url, IndexStatus], today: date, count: int
) -> list[InspectionCandidate]:
    """The ``count`` pages to inspect, the most important first.

    Orphans that searchers see come first, then listed pages that they do not see, which Google may not have indexed,
    then the others. Of each kind, pages that were never inspected come first; others only when they are due.
    """

    def order(page: InspectionCandidate) -> tuple[int, int, int, Url]:
        kind = 0 if page.is_orphan and page.impressions else 1 if page.is_listed and not page.impressions else 2
        return kind, int(page.url in known), -page.impressions, page.url

    due = (page for page in pages if page.url not in known or known[page.url].is_due(today))
    return nsmallest(count, (page for page in due if page.is_listed or page.is_orphan), key=order)


def judge_candidates(pages: Iterable[InspectionCandidate], known: Mapping[Url, IndexStatus]) -> Iterator[AuditFinding]:
    """The findings about pages that were inspected in this audit or an earlier one. Pure."""
    for page in pages:
        status = known.get(page.url)
        if status is None or not (page.is_listed or page.is_orphan):
            continue
        chosen = status.google_canonical
        if chosen and _canonical_form(chosen) != page.url:
            rule, sentence = CANONICAL, f"Google takes {chosen} for the canonical of this page"
        elif page.is_listed and not status.is_indexed:
            rule, sentence = UNINDEXED, f"Google: {status.coverage_state or 'not indexed'}"
        else:
            continue
        crawled = f"; Google last crawled the page on {status.last_crawl_time[:10]}" if status.last_crawl_time else ""
        yield AuditFinding(
            rule=rule,
            url=page.url,
            sentence=f"{sentence} (inspected on {status.day})",
            title=page.title,
            state=State.INDEXABLE,
            status=page.status,
            impressions=page.impressions,
            evidence=[f'URL Inspection on {status.day}: "{status.coverage_state}"{crawled}'],
        )


def _canonical_form(url: str) -> str:
    """A URL of Google in the form of ours: another spelling of the same URL is no other page."""
    try:
        return normalize_url(url, DEFAULT_PARAMS.keeping_all)
    except InvalidUrl:
        return url


class IndexInspector:
    """Inspects pages of one property; ``directory`` has the results of earlier audits. ``now`` is Unix time."""

    def __init__(self, config: Config, directory: Path, now: float) -> None:
        self._config = config
        self._directory = directory
        self._now = now
        self._today = datetime.fromtimestamp(now, UTC).date()
        self._inspected = 0
        self._api = inspection_api(config.audit.search_console, config.audit.inspection_endpoint)

    def findings(
        self, pages: Callable[[], Iterable[InspectionCandidate]], on_progress: Callable[[int, int], object]
    ) -> tuple[list[AuditFinding], list[str]]:
        """Inspect the pages that are due, and judge all that were ever inspected. Returns findings and notes.

        A failure of the API is a note. Raises StorageError.
        """
        notes = []
        with InspectionCache.opened(self._directory, self._api.title) as cache:
            known = self._known(cache)
            left = max(self._config.audit.inspect_urls - cache.requests(self._today.isoformat()), 0)
            ours = (page for page in pages() if self._is_in_property(page.url))
            chosen = choose_candidates(ours, known, self._today, left)
            try:
                if chosen:
                    anyio.run(self._inspect, cache, chosen, on_progress)
            except (ApiUnavailable, UsageError) as error:
                skipped = len(chosen) - self._inspected
                notes.append(
                    f"{count_text(skipped, 'page')} {'was' if skipped == 1 else 'were'} not inspected: {error}"
                )
            known = self._known(cache)
        every = [page.url for page in pages() if page.is_listed]
        listed = [url for url in every if self._is_in_property(url)]
        if every and not listed:
            notes.append(f"no listed page belongs to the property {self._api.property_id}, so none was inspected")
        inspected = sum(url in known for url in listed)
        if inspected < len(listed):
            notes.append(
                f"the index status of {inspected:,} of {count_text(len(listed), 'listed page')} is known; "
                "audit.inspect_urls sets how many pages are inspected a day"
            )
        return list(judge_candidates(pages(), known)), notes

    def _is_in_property(self, url: Url) -> bool:
        """https://support.google.com/webmasters/answer/34592#property-types"""
        name = self._api.property_id
        domain = name.removeprefix("sc-domain:")
        if domain == name:
            return url.startswith(name)
        host = url.split("/")[2].partition(":")[0]
        return host == domain or host.endswith(f".{domain}")

    def _known(self, cache: InspectionCache) -> dict[Url, IndexStatus]:
        decode = msgspec.json.Decoder(IndexStatus).decode
        return {Url(url): msgspec.structs.replace(decode(body), day=day) for url, day, body in cache.results()}

    async def _inspect(
        self, cache: InspectionCache, chosen: list[InspectionCandidate], on_progress: Callable[[int, int], object]
    ) -> None:
        day = self._today.isoformat()
        limit = self._config.audit.inspect_urls
        async with ApiReader(self._api, self._config, cache, self._now, limit, "audit.inspect_urls") as reader:
            for done, page in enumerate(chosen):
                on_progress(done, len(chosen))
                started = anyio.current_time()
                request = {"inspectionUrl": page.url, "siteUrl": self._api.property_id, "languageCode": "en-US"}
                body = await reader.post(msgspec.json.encode(request))
                cache.put(page.url, day, msgspec.json.encode(read_inspection(body)))
                self._inspected = done + 1
                await anyio.sleep(max(0.0, started + 60 / _MINUTE - anyio.current_time()))


def read_inspection(body: bytes) -> IndexStatus:
    """The index status in a response. Raises ApiUnavailable for a response that cannot be read. Pure."""
    try:
        return msgspec.json.decode(body, type=_Response).inspection_result.index_status_result
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ApiUnavailable("the response of URL Inspection cannot be read. The next audit tries again") from None
