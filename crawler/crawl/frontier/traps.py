"""The offspring in a frontier: how many of which template, which wait until all else is visited, what becomes of them.

Little is kept of it: which page a URL was found on is in the state, and most follows from that. What waits stands as a
trap there, which is its end unless :meth:`Offspring.look_again` finds that its like tell something still.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Set
from functools import cached_property
from heapq import nlargest, nsmallest
from typing import Final, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from crawler.crawl.frontier import url_templates
from crawler.crawl.frontier.cache import StateCounts
from crawler.crawl.frontier.outlinks import unpack_links
from crawler.crawl.frontier.url_templates import TemplatePage, UrlTemplate
from crawler.model import DiscoveredBy, DiscoveredUrl, DocumentKind, Lease, State, StatusBadge, Url
from crawler.parse.snapshot.snapshot import load_snapshot
from crawler.url.normalize import origin_of

JUDGED_PAGES: Final = 4

"""Times the patience: how many of the last pages are judged, when there were twice as many."""

KEPT_PAGES: Final = JUDGED_PAGES + 1  # times the patience: these, and what is compared with them


_NAMED_BY_SITEMAP: Final = f"""SELECT u.url FROM json_each(?) j JOIN visit v ON v.id = j.value JOIN visit s ON s.id =
v.source
  JOIN url u ON u.id = v.id WHERE v.state = '{State.INDEXABLE}' AND s.kind = {int(DocumentKind.SITEMAP)}"""  # noqa: S608


class TemplateMember(NamedTuple):
    """An offspring. Those nearer to the start come first, whatever the order of answers was."""

    depth: int
    url: Url
    id: int
    template: UrlTemplate
    state: State
    status: int | None
    content: int | None

    @property
    def is_postponed(self) -> bool:
        """Whether it was never asked for, and is not to be."""
        return self.state is State.TRAP and self.status is None


class Novelty:
    """The last ``pages`` of each template of a path, those that were answered, in order. ``brought`` are the pages that
    were found first on each of them, by id, and are no offspring of it."""

    def __init__(
        self,
        db: sqlite3.Connection,
        pages: Mapping[UrlTemplate, list[TemplateMember]],
        brought: Mapping[int, list[Url]],
        patience: int,
    ) -> None:
        self._db = db
        self._pages = pages
        self._brought = brought
        self._trap_limit = patience

    def judged_count(self, template: UrlTemplate) -> int:
        """How many of the last pages of a template are judged."""
        return min(JUDGED_PAGES * self._trap_limit, len(self._pages.get(template, ())) // 2)

    def has_news(self, template: UrlTemplate) -> bool:
        """Whether enough was read of a template, and some of what is judged told something."""
        return self.judged_count(template) >= self._trap_limit and not self.has_no_news(template)

    def has_no_news(self, template: UrlTemplate) -> bool:
        """Whether all that are judged told nothing. Of fewer than a few nobody can tell."""
        judged = self.judged_count(template)
        if judged < max(1, self._trap_limit // 20):
            return False
        return not any(self._has_news_flags(template, self._pages[template][-judged:], judged))

    def pages_without_news(self, template: UrlTemplate, after: TemplateMember) -> Iterator[TemplateMember]:
        """The pages for the sitemap behind a certain one that told nothing."""
        pages = [
            each for each in self._pages.get(template, ()) if each > after and each.state is State.INDEXABLE
        ]
        behind = sum(each > after for each in self._pages.get(template, ()))
        for each, tells in zip(pages, self._has_news_flags(template, pages, behind), strict=True):
            if not tells:
                yield each

    def _has_news_flags(
        self, template: UrlTemplate, pages: list[TemplateMember], behind: int
    ) -> Iterator[bool]:
        """Of each of these pages in turn, whether it tells what none before them told, and no other template of the
        path; ``behind`` so many are the pages of the template that are not before them."""
        every = self._pages.get(template, [])
        before = every[: len(every) - behind][-self._trap_limit :]
        told = set().union(*map(self._contents_of, before))
        for each in pages:
            new = {
                said
                for said in self._contents_of(each) - told
                if self._template_by_content.get(said, template) == template
            }
            yield bool(new)
            told |= new

    @cached_property
    def _template_by_content(self) -> dict[str, UrlTemplate | None]:
        """Which template tells something with its last pages; None: more than one does."""
        tellers: dict[str, UrlTemplate | None] = {}
        if len(self._pages) > 1:
            for template, pages in self._pages.items():
                for said in set().union(*map(self._contents_of, pages[-self._trap_limit :])):
                    tellers[said] = None if said in tellers else template
        return tellers

    def _contents_of(self, member: TemplateMember) -> set[str]:
        return url_templates.page_contents(self._visited(member))

    def _visited(self, member: TemplateMember) -> TemplatePage:
        markup = ""
        if member.state is State.INDEXABLE and member.content is not None:
            row = self._db.execute("SELECT text FROM content WHERE id = ?", (member.content,)).fetchone()
            markup = (load_snapshot(row[0]) or "") if row else ""
        return TemplatePage(
            member.url, markup, (*self._brought.get(member.id, ()), *self._listed_targets(member))
        )

    def _listed_targets(self, member: TemplateMember) -> Iterator[Url]:
        """The pages it links to that a sitemap had named before any page could bring them."""
        row = self._db.execute("SELECT links FROM content WHERE id = ?", (member.content,)).fetchone()
        ids = msgspec.json.encode([number for number, _ in unpack_links(row[0])] if row else []).decode()
        for (url,) in self._db.execute(_NAMED_BY_SITEMAP, (ids,)):
            if url_templates.template_of(url).path != member.template.path:
                yield url


GroupKey = TypeVar("GroupKey", str, UrlTemplate)


_OK_STATUS: Final = 200  # the status; what is not there, or fails, tells nothing of its like

_DECISIONS_KEY: Final = "endless"  # the key of what was decided

_PATIENCE_DIVISOR: Final = (
    10  # a template has this part of the patience to itself, whatever others of its path have used
)

_SPARE_MEMBERS: Final = 100  # members that are kept beyond twice the room before the farther ones are let go

_SELECT_MEMBERS: Final = """SELECT v.id, u.url, p.url, v.depth, v.state, v.status, v.content FROM visit v
  JOIN url u ON u.id = v.id JOIN url p ON p.id = v.source WHERE v.kind = ? AND {}"""

_IS_POSTPONED: Final = (
    f"v.state = '{State.TRAP}' AND v.status IS NULL AND v.reason LIKE '{url_templates.TRAP_PREFIX}%'"
)

_POSTPONED: Final = _SELECT_MEMBERS.format(_IS_POSTPONED)

_POSTPONED_AND_REMEMBERED: Final = _SELECT_MEMBERS.format(
    f"{_IS_POSTPONED} AND EXISTS (SELECT 1 FROM memory m WHERE m.id = v.id AND m.state != '{State.TRAP}')"  # noqa: S608
)

_ADMITTED: Final = _SELECT_MEMBERS.format(
    f"(v.attempts > 0 OR v.state = '{State.PENDING}' OR {_IS_POSTPONED})"
)

_DISCOVERED: Final = f"""SELECT v.source, u.url FROM visit v JOIN url u ON u.id = v.id
  WHERE v.state = '{State.INDEXABLE}' AND v.source IS NOT NULL"""  # noqa: S608

_IS_KNOWN: Final = "SELECT 1 FROM url u JOIN visit v ON v.id = u.id WHERE u.url = ?"

_IS_REMEMBERED: Final = f"""SELECT 1 FROM url u JOIN memory m ON m.id = u.id
  WHERE u.url = ? AND m.state != '{State.TRAP}'"""  # noqa: S608

_LISTED: Final = """SELECT u.url FROM visit v JOIN memory m ON m.id = v.id JOIN url u ON u.id = v.id
  WHERE v.found & ? AND v.attempts > 0"""

_SET_STATE: Final = "UPDATE visit SET state = ?, reason = ? WHERE id = ?"


class _TrapDecisions(Struct, frozen=True):
    """What a run that is gone on with cannot count: which templates are endless, and how much others are allowed."""

    vain: list[UrlTemplate] = []
    allowed: list[tuple[UrlTemplate, int]] = []


class TrapDetector:
    """Counts the offspring of each template. Of ``patience`` pages in a row one has to tell something; 0: no limit.

    All templates of a path may have twice that much before any of their URLs wait. Every method is part of the caller's
    transaction; :meth:`forget` is to be called when that failed. ``out`` are the leases that are out.
    """

    def __init__(
        self, db: sqlite3.Connection, census: StateCounts, out: Mapping[int, Lease], patience: int
    ) -> None:
        self._db = db
        self._out = out
        self._state_counts = census
        self._trap_limit = patience
        self._slack: Counter[str] = Counter()  # by path: how many more of what is endless are visited
        self.notes: dict[str, str] = {}  # by path
        self._is_counted = False
        self._count()

    def reset(self) -> None:
        """Count anew."""
        self._is_counted = False

    def template_of(self, find: DiscoveredUrl) -> UrlTemplate | None:
        """The template of a URL that is an offspring of the page it is found on now, which is ``out``."""
        if not self._trap_limit or find.source is None or find.kind is not DocumentKind.PAGE:
            return None
        lease = self._out.get(find.source)
        return url_templates.shared_template(find.url, lease.url, self._is_known) if lease else None

    def refusal(self, find: DiscoveredUrl) -> StatusBadge | None:
        """Why a URL that is new waits; None: it is one of those that are visited."""
        template = self.template_of(find)
        if template is None:
            return None
        self._count()
        own = self._own[template]
        allowed = self._allowed.get(template, max(1, self._trap_limit // _PATIENCE_DIVISOR))
        is_enough = self._family[template.path] >= 2 * self._trap_limit and own >= allowed
        is_enough = is_enough and template not in self._vain
        if template in self._vain and not self._is_remembered(find.url):
            self._slack[template.path] -= 1
            is_enough = self._slack[template.path] < 0
        if is_enough:
            self._waiting.add(template)
            return StatusBadge(State.TRAP, url_templates.trap_reason(template, own))
        self._family[template.path] += 1
        self._own[template] += 1
        return None

    def review_postponed(self) -> bool:
        """Decide about what waits, when all else is visited: whether some of it is to be visited now."""
        self._count()
        waiting = self._waiting - self._vain
        paths = sorted({template.path for template in waiting} | self._closing)
        if not paths:
            return False
        told = self._novelty_by_path({*paths})
        # what a sitemap names is near to the start, however far it was: in no order to judge by
        judged = {each for each in self._carried if told[each.path].has_news(each)}
        again = judged - {*self._listed(judged)}
        self._vain -= again
        waiting |= again & self._waiting
        self._carried.clear()
        for template in waiting - again:
            if told[template.path].has_no_news(template):
                self._vain.add(template)
                self._closing.add(template.path)
        revived = self._close({path: told[path] for path in paths if path in self._closing})
        going_on = self._admit_more(waiting - self._vain)
        self._remember()
        return going_on or revived

    def _count(self) -> None:
        """Count what is in the state, when a run is gone on with."""
        if self._is_counted:
            return
        self._is_counted = True
        self._family: Counter[str] = Counter()
        self._own: Counter[UrlTemplate] = Counter()
        self._waiting: set[UrlTemplate] = set()
        for each in self._members(_ADMITTED):
            if each.is_postponed:
                self._waiting.add(each.template)
            else:
                self._family[each.template.path] += 1
                self._own[each.template] += 1
        row = self._db.execute("SELECT value FROM about WHERE key = ?", (_DECISIONS_KEY,)).fetchone()
        decided = msgspec.json.decode(row[0], type=_TrapDecisions) if row else _TrapDecisions()
        self._vain = set(decided.vain)
        self._closing = {template.path for template in self._vain}
        # the run before decided this too: what it read is read again, and perhaps it tells something now
        self._carried = set() if self._own else set(self._vain)
        self._inherited = frozenset(self._carried)
        self._allowed = dict(decided.allowed) if self._own else {}

    def _remember(self) -> None:
        vain = self._vain - (self._inherited - self._waiting)  # what has come to an end is forgotten
        decided = _TrapDecisions(sorted(vain), sorted(self._allowed.items()))
        row = (_DECISIONS_KEY, msgspec.json.encode(decided).decode())
        self._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", row)

    def _is_remembered(self, url: Url) -> bool:
        return self._db.execute(_IS_REMEMBERED, (url,)).fetchone() is not None

    def _listed(self, templates: Set[UrlTemplate]) -> Counter[UrlTemplate]:
        """How many URLs of each of these templates an earlier run knew and a sitemap names, be it our own."""
        listed = (
            url_templates.template_of(url) for (url,) in self._db.execute(_LISTED, (DiscoveredBy.SITEMAP,))
        )
        return Counter(template for template in listed if template in templates)

    def _members(self, query: str) -> Iterator[TemplateMember]:
        if self._trap_limit:
            for number, url, parent, depth, state, status, content in self._db.execute(
                query, (DocumentKind.PAGE,)
            ):
                if template := url_templates.shared_template(url, parent, self._is_known):
                    yield TemplateMember(depth, url, number, template, State(state), status, content)

    def _is_known(self, url: str) -> bool:
        return self._db.execute(_IS_KNOWN, (url,)).fetchone() is not None

    def _novelty_by_path(self, paths: set[str]) -> dict[str, Novelty]:
        """What the last pages of each template of these paths told."""
        last: defaultdict[str, defaultdict[UrlTemplate, list[TemplateMember]]] = defaultdict(
            lambda: defaultdict(list)
        )
        most = KEPT_PAGES * self._trap_limit
        for each in self._members(_ADMITTED):
            if each.template.path in paths and each.status == _OK_STATUS:
                pages = last[each.template.path][each.template]
                pages.append(each)
                if len(pages) > 2 * most:
                    pages[:] = nlargest(most, pages)
        pages = [each for family in last.values() for pages in family.values() for each in pages]
        brought = self._discovered({each.id: each.url for each in pages})
        return {
            path: Novelty(
                self._db,
                {template: sorted(pages)[-most:] for template, pages in sorted(last[path].items())},
                brought,
                self._trap_limit,
            )
            for path in paths
        }

    def _discovered(self, pages: dict[int, Url]) -> dict[int, list[Url]]:
        """What is for the sitemap, was found on these pages first, and is no offspring of theirs."""
        brought: defaultdict[int, list[Url]] = defaultdict(list)
        for source, url in self._db.execute(_DISCOVERED):
            if source in pages and not url_templates.shared_template(url, pages[source], self._is_known):
                brought[source].append(url)
        return brought

    def _close(self, told: Mapping[str, Novelty]) -> bool:
        """Leave what waits where it is, once those nearest to the start are all read, as many as were to be.

        Answers came in some order, and others may have been read in their place: these join what waits, unless they
        told something. So what is listed in the end does not depend on that order.
        """
        vain: defaultdict[str, list[UrlTemplate]] = defaultdict(list)
        for template in sorted(self._vain, key=lambda template: (template.names.count("&"), template)):
            if template.path in told:
                vain[template.path].append(template)
        listed = self._listed(self._vain)
        rooms = {}
        for path, templates in vain.items():
            room = max(self._allowed.get(each, 0) for each in templates) or 2 * self._trap_limit
            rooms[path] = max(0, room - sum(listed[each] for each in templates))
        paths = {template: path for path, templates in vain.items() for template in templates}
        # what an earlier run visited is visited, as it is where that run has found the template to be endless
        left = [each for each in self._members(_POSTPONED_AND_REMEMBERED) if each.template in paths]
        self._readmit(left)
        nearest = self._nearest(_ADMITTED, paths, rooms)
        waiting = self._nearest(_POSTPONED, paths, dict.fromkeys(rooms, 1))
        revived = bool(left)
        for path, templates in vain.items():
            near, own = nearest.get(path, []), sum(self._own[each] for each in templates)
            if missing := [each for each in near if each.is_postponed]:
                self._slack[path] = own - rooms[path] - len(missing)
                self._readmit(missing)
                revived = True
                continue
            self._closing.discard(path)
            self._slack[path] = 0
            if near:
                self._drop_behind(templates, near[-1], told[path])
            for rest in waiting.get(path, ()):
                self.notes[path] = url_templates.trap_note(
                    templates, rest.url, own, sum(map(told[path].judged_count, templates))
                )
        return revived

    def _drop_behind(self, templates: list[UrlTemplate], last: TemplateMember, told: Novelty) -> None:
        """Leave out what was read behind the last one that was to be read, and told nothing new."""
        for template in templates:
            for each in told.pages_without_news(template, last):
                if not self._is_remembered(each.url):
                    said = f"{url_templates.TRAP_PREFIX}others like {template} had been read, and it told nothing new"
                    self._move(each, State.TRAP, said)

    def _admit_more(self, templates: set[UrlTemplate]) -> bool:
        """Let as many more of these templates be visited as there were so far, nearest first."""
        rooms = {}
        for template in templates:
            room = 2 * self._trap_limit
            while room <= self._own[template]:
                room *= 2
            self._allowed[template] = room
            rooms[template] = room - self._own[template]
        more = {template: room + 1 for template, room in rooms.items()}
        near = self._nearest(_POSTPONED, dict(zip(rooms, rooms, strict=True)), more)
        for template, room in rooms.items():
            if len(near.get(template, ())) <= room:
                self._waiting.discard(template)
        for template in sorted(near):
            self._readmit(near[template][: rooms[template]])
        return bool(near)

    def _nearest(
        self, query: str, groups: Mapping[UrlTemplate, GroupKey], rooms: Mapping[GroupKey, int]
    ) -> dict[GroupKey, list[TemplateMember]]:
        """The members nearest to the start, as many of each group as it has room for: all groups by one reading."""
        near: defaultdict[GroupKey, list[TemplateMember]] = defaultdict(list)
        for each in self._members(query):
            if (group := groups.get(each.template)) is not None:
                near[group].append(each)
                if len(near[group]) > 2 * rooms[group] + _SPARE_MEMBERS:
                    near[group] = nsmallest(rooms[group], near[group])
        return {group: nsmallest(rooms[group], members) for group, members in near.items()}

    def _readmit(self, members: list[TemplateMember]) -> None:
        for each in members:
            self._move(each, State.PENDING, "")
            self._own[each.template] += 1
            self._family[each.template.path] += 1

    def _move(self, member: TemplateMember, after: State, reason: str) -> None:
        self._db.execute(_SET_STATE, (after, reason, member.id))
        self._state_counts.move(origin_of(member.url), member.state, after)
