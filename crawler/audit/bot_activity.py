"""Joins the requests of bots in the access logs with the pages of the site: what bots do, and what they leave out.

A bot is who its user agent names: a claim, which --set audit.verify_bots=true checks for the bots that DNS can verify.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterator, Mapping
from typing import Final

import msgspec

from crawler.audit.finding import (
    AuditFinding,
    BotActivity,
    BotRequests,
    CrawledPart,
    CrawledState,
    CrawlPoint,
    DayRequests,
    UncrawledPage,
)
from crawler.audit.graph.graph import LinkGraph
from crawler.audit.patterns import Segments
from crawler.audit.source_record import SourceKind
from crawler.audit.sources.logs.bots import DOMAINS, BotKind, bot_kind
from crawler.audit.statistics import OTHER_SECTIONS, Statistics, depth_label
from crawler.model import State
from crawler.state.database import storage_errors
from crawler.units import count_text

RULE: Final = "bots.uncrawled"
MAX_SECTIONS: Final = 100  # with the most pages; the others are summed up
NOT_REQUESTED: Final = "not requested by the audit"
FILES: Final = "images, style sheets and other files"
OUTSIDE: Final = "outside the scope of the audit"
_UNJUDGED: Final = (NOT_REQUESTED, FILES, OUTSIDE)  # neither indexable nor not

_PAGES: Final = f"""SELECT v.id, u.url, v.lastmod, coalesce(sum(c.engines), 0), coalesce(sum(c.people), 0),
    coalesce(max(i.source = '{SourceKind.SITEMAP.value}'), 0),
    coalesce(sum(sum(c.engines)) OVER (PARTITION BY coalesce(k.digest, v.id)), 0)
      OR coalesce((SELECT max(started) FROM site.run WHERE number >= (SELECT min(first_run) FROM site.memory)
        AND number < coalesce(m.first_run, (SELECT max(number) FROM site.run)))
        >= CAST(strftime('%s', (SELECT max(day) FROM log_day), '+1 day') AS INTEGER), 0)
  FROM site.visit v JOIN site.url u ON u.id = v.id LEFT JOIN home h ON h.id = v.id
    LEFT JOIN site.content k ON k.id = v.content LEFT JOIN site.memory m ON m.id = v.id
    LEFT JOIN claim c ON c.url = h.url LEFT JOIN input i ON i.id = c.input
  WHERE v.state = '{State.INDEXABLE.value}' GROUP BY v.id"""  # noqa: S608 - constants
_REQUESTED: Final = f"""SELECT c.url, c.agents, c.status, v.state, v.id, 0 FROM claim c JOIN input i ON i.id = c.input
    LEFT JOIN site.url u ON u.url = c.url LEFT JOIN site.visit v ON v.id = u.id
  WHERE i.source = '{SourceKind.LOG.value}' AND c.agents != '{{}}'
UNION ALL SELECT c.url, c.agents, 0, NULL, NULL, 1 FROM file_claim c JOIN input i ON i.id = c.input
  WHERE i.source = '{SourceKind.LOG.value}' AND c.agents != '{{}}' ORDER BY 6, 1"""  # noqa: S608 - a constant
_decode_agents = msgspec.json.Decoder(dict[str, int]).decode

_Part = tuple[str, str]  # what it is ("section", "segment", "depth", "state"), and its label


class CrawledPages:
    """Reads the bot activity of a finished crawl from ``db``, which has the state attached as ``site``.

    ``copies`` are ids of pages that are another spelling of one. Every method raises StorageError.
    """

    def __init__(
        self, db: sqlite3.Connection, graph: LinkGraph, figures: Statistics, copies: Container[int], segments: Segments
    ) -> None:
        self._db = db
        self._graph = graph
        self._figures = figures
        self._copies = copies
        self._segments = segments
        self._pages, self._crawled = Counter[_Part](), Counter[_Part]()
        self._requests: defaultdict[_Part, Counter[str]] = defaultdict(Counter)  # by kind of bot

    def uncrawled(self) -> Iterator[UncrawledPage]:
        """The pages that no search engine requested; counts all pages, so exhaust it before :meth:`activity`.

        Not those with an exact copy that one requested, nor those that an audit after the logs did not know yet.
        """
        graph = self._graph
        with storage_errors():
            for number, url, lastmod, engines, people, is_listed, is_excused in self._db.execute(_PAGES):
                node = graph.nodes.node(number)
                if number in self._copies or node < 0:
                    continue
                depth = int(graph.depth[node])
                parts = *self._parts_of(url), ("depth", depth_label(depth))
                self._pages.update(parts)
                self._crawled.update(parts if engines else ())
                if not is_excused and (is_listed or graph.ways[node] or node == graph.start):
                    yield UncrawledPage(
                        url=url,
                        section=parts[0][1],
                        segment=parts[1][1],
                        depth=depth if depth >= 0 else None,
                        inlinks=graph.all_inlinks(node),
                        is_listed=bool(is_listed),
                        lastmod=lastmod or "",
                        people=people,
                    )

    def activity(self, *, verified: Collection[str], min_days: int) -> BotActivity | None:
        """What bots do; None if no log has a request of a bot.

        ``verified`` are the bots whose names were checked, ``min_days`` are those that the rule needs.
        """
        with storage_errors():
            days = [day for (day,) in self._db.execute("SELECT day FROM log_day ORDER BY day")]
            rows = self._db.execute("SELECT day, bot, status, requests FROM bot_request").fetchall()
            has_agents = all(row[0] for row in self._db.execute("SELECT has_agents FROM log_about"))
        if not rows:
            return None
        by_day: defaultdict[str, Counter[str]] = defaultdict(Counter)
        bots: dict[str, Counter[int]] = defaultdict(Counter)
        seen: dict[str, list[str]] = defaultdict(list)
        for day, bot, status, requests in rows:
            by_day[day][bot_kind(bot)] += requests
            bots[bot][status] += requests
            seen[bot] += [day] if day else []
        by_kind = _by_kind(sum(by_day.values(), Counter[str]()))
        states = self._states()
        inside = sum((Counter(state.requests) for state in states), Counter[str]())
        if outside := _by_kind(Counter(by_kind) - inside):
            states.append(CrawledState(OUTSIDE, 0, outside))
        judged = [state for state in states if state.label not in _UNJUDGED]
        to_pages = sum(state.requests.get(BotKind.SEARCH, 0) for state in judged)
        wasted = sum(state.requests.get(BotKind.SEARCH, 0) for state in judged if state.label != State.INDEXABLE)
        return BotActivity(
            first=days[0] if days else "",
            last=days[-1] if days else "",
            is_verified=bool(verified),
            total=CrawlPoint(
                days=len(days),
                requests=by_kind,
                pages=sum(part.pages for part in self._parts("section")),
                crawled=sum(part.crawled for part in self._parts("section")),
                to_pages=to_pages,
                wasted=wasted,
            ),
            bots=[
                BotRequests(
                    name=name,
                    kind=bot_kind(name),
                    requests=statuses.total(),
                    statuses={str(status): statuses[status] for status in sorted(statuses)},
                    first=min(seen[name], default=""),
                    last=max(seen[name], default=""),
                    is_verifiable=name in (verified or DOMAINS),
                )
                for name, statuses in sorted(bots.items(), key=lambda item: (-item[1].total(), item[0]))
            ],
            by_day=[DayRequests(day, _by_kind(by_day[day])) for day in sorted({*by_day, *days})],
            sections=_merge_small(self._parts("section")),
            segments=self._parts("segment") if self._segments else [],
            depths=sorted(self._parts("depth"), key=lambda part: _depth_order(part.label)),
            states=states,
            why_not_checked=_why_not_checked(
                len(days), min_days, has_agents=has_agents, has_engines=BotKind.SEARCH in by_kind
            ),
        )

    def _states(self) -> list[CrawledState]:
        """Count the requests by part; the states of the requested URLs."""
        urls: Counter[str] = Counter()
        last = ""
        with storage_errors():
            for url, agents, status, state, number, is_file in self._db.execute(_REQUESTED):
                requests = _requests_by_kind(agents)
                if not requests:
                    continue
                label = FILES if is_file else _state_today(state, status)
                parts = [("state", label), *(() if is_file else self._parts_of(url))]
                if state == State.INDEXABLE and number not in self._copies:
                    node = self._graph.nodes.node(number)
                    parts.append(("depth", depth_label(int(self._graph.depth[node]) if node >= 0 else -1)))
                for part in parts:
                    self._requests[part].update(requests)
                urls[label] += url != last
                last = url
        found = [CrawledState(label, count, _by_kind(self._requests["state", label])) for label, count in urls.items()]
        found.sort(key=lambda crawled: (crawled.label in _UNJUDGED, -sum(crawled.requests.values()), crawled.label))
        return found

    def _parts_of(self, url: str) -> tuple[_Part, _Part]:
        return ("section", self._figures.section_name(url)), ("segment", self._segments.of_url(url))

    def _parts(self, kind: str) -> list[CrawledPart]:
        """The parts of the site of one kind, those with the most pages first."""
        parts = [part for part in self._pages.keys() | self._requests.keys() if part[0] == kind]
        return [
            CrawledPart(part[1], self._pages[part], self._crawled[part], _by_kind(self._requests.get(part, {})))
            for part in sorted(parts, key=lambda part: (-self._pages[part], part[1]))
        ]


def uncrawled_findings(
    pages: Iterator[UncrawledPage], days: int, *, is_certain: bool
) -> Iterator[tuple[float, AuditFinding]]:
    """A finding for each page that no search engine requested, ranked by inlinks.

    ``is_certain``: all logs were read completely.
    """
    sentence = f"no search engine requested it on the {count_text(days, 'day')} of the access logs"
    for page in pages:
        yield (
            float(page.inlinks),
            AuditFinding(
                rule=RULE,
                url=page.url,
                sentence=sentence,
                is_certain=is_certain,
                state=State.INDEXABLE,
                lastmod=page.lastmod,
                depth=page.depth,
                inlinks=page.inlinks,
                people=page.people,
                known=[SourceKind.SITEMAP.value] if page.is_listed else [],
            ),
        )


def _state_today(state: str | None, status: int) -> str:
    """The state of a URL; if the audit did not request the URL, what its newest response in the logs means."""
    if state is not None and state != State.PENDING:
        return state
    if 300 <= status < 400 and status != 304:
        return State.REDIRECT
    if status >= 500:
        return State.SERVER_ERROR
    return State.CLIENT_ERROR if status >= 400 else NOT_REQUESTED


def _requests_by_kind(packed: str) -> dict[BotKind, int]:
    """The requests of bots by kind. Scanners call themselves browsers, and are not counted."""
    requests: dict[BotKind, int] = {}
    for name, count in _decode_agents(packed).items():
        if name != "scanners":
            kind = bot_kind(name)
            requests[kind] = requests.get(kind, 0) + count
    return requests


def _by_kind(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts in the order of the kinds, without zeros."""
    return {kind.value: counts[kind] for kind in BotKind if counts.get(kind)}


def _merge_small(parts: list[CrawledPart]) -> list[CrawledPart]:
    """The sections with the most pages; the others, and URLs in no section with pages, are one part at the end."""
    named = [part for part in parts if part.label != OTHER_SECTIONS]
    rest = [*named[MAX_SECTIONS:], *(part for part in parts if part.label == OTHER_SECTIONS)]
    if not rest:
        return named
    requests = sum((Counter(part.requests) for part in rest), Counter[str]())
    pages, crawled = sum(part.pages for part in rest), sum(part.crawled for part in rest)
    return [*named[:MAX_SECTIONS], CrawledPart(OTHER_SECTIONS, pages, crawled, _by_kind(requests))]


def _depth_order(label: str) -> tuple[bool, int]:
    number = label.partition(" ")[0]
    return not number.isdecimal(), int(number) if number.isdecimal() else 0


def _why_not_checked(days: int, min_days: int, *, has_agents: bool, has_engines: bool) -> str:
    if not has_agents:
        return "an access log has no user agents, so requests of search engines cannot be recognized"
    if not has_engines:
        return "the access logs have no request of a search engine"
    if days < min_days:
        return (
            f"the access logs have requests on {count_text(days, 'day')} only, and audit.min_log_days is {min_days:,}"
        )
    return ""
