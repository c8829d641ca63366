"""Crawler traps: counts the generated URLs of each template, postpones those over the limit, and judges them last.

A generated URL is one that was discovered on a page of its own template (:mod:`crawler.crawl.frontier.url_templates`).
A postponed URL has the state of a trap, and keeps it unless :meth:`TrapDetector.review_postponed` finds that pages of
its template still bring news. Most of the counts follow from the state, which knows the page each URL was found on.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest, nsmallest
from typing import Final, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from crawler.crawl.frontier import url_templates
from crawler.crawl.frontier.cache import StateCounts
from crawler.crawl.frontier.copies import CopyDetector
from crawler.crawl.frontier.storage import unpack_links
from crawler.crawl.frontier.url_templates import TemplatePage, UrlTemplate
from crawler.model import DiscoveredBy, DiscoveredUrl, DocumentKind, Lease, Outcome, State, Url, Verdict
from crawler.parse.snapshot.snapshot import load_markup
from crawler.state.store import read_about, write_about
from crawler.url.normalize import origin_of

KEPT_PAGES: Final = 5
"""Times the trap limit: of so many last pages of a template, the later half is judged."""

_NAMED_BY_SITEMAP: Final = f"""SELECT u.url FROM json_each(?) j JOIN visit v ON v.id = j.value JOIN visit s ON s.id =
v.source
  JOIN url u ON u.id = v.id WHERE v.state = '{State.INDEXABLE}' AND s.kind = {int(DocumentKind.SITEMAP)}"""  # noqa: S608


_TEXT: Final = "SELECT text FROM content WHERE id = ?"
_LINKS: Final = "SELECT links FROM content WHERE id = ?"


class TemplateMember(NamedTuple):
    """A generated URL. Less deep ones sort first, whatever the order of answers was."""

    depth: int
    url: Url
    id: int
    template: UrlTemplate
    state: State
    status: int | None
    content: int | None

    @property
    def is_postponed(self) -> bool:
        """Whether it was never fetched, and is not to be."""
        return self.state is State.TRAP and self.status is None


@dataclass(frozen=True, eq=False)
class Novelty:
    """Whether the last ``pages`` of each template of a path, in order, bring news.

    ``brought`` are the URLs first discovered on each page, by its id, that are not generated from it.
    """

    db: sqlite3.Connection
    pages: Mapping[UrlTemplate, list[TemplateMember]]
    brought: Mapping[int, list[Url]]
    trap_limit: int

    def judged_count(self, template: UrlTemplate) -> int:
        """The number of the last pages of a template that are judged."""
        return len(self.pages.get(template, ())) // 2

    def has_news(self, template: UrlTemplate) -> bool:
        """Whether enough pages of a template were read, and one of those judged brings news."""
        return self.judged_count(template) >= self.trap_limit and not self.has_no_news(template)

    def has_no_news(self, template: UrlTemplate) -> bool:
        """Whether none of the judged pages brings news; False when none is judged."""
        judged = self.judged_count(template)
        return judged > 0 and not any(self._has_news_flags(template, self.pages[template][-judged:], judged))

    def pages_without_news(self, template: UrlTemplate, after: TemplateMember) -> Iterator[TemplateMember]:
        """The indexable pages after a given one that bring no news."""
        later = [page for page in self.pages.get(template, ()) if page > after]
        pages = [page for page in later if page.state is State.INDEXABLE]
        for page, has_news in zip(pages, self._has_news_flags(template, pages, len(later)), strict=True):
            if not has_news:
                yield page

    def _has_news_flags(self, template: UrlTemplate, pages: list[TemplateMember], behind: int) -> Iterator[bool]:
        """For each page in turn, whether it has content that no page before it has, nor another template of the path.

        The last ``behind`` pages of the template are not before these.
        """
        members = self.pages.get(template, [])  # none when all pages of an endless template failed
        earlier = members[: len(members) - behind][-self.trap_limit :]
        known = set().union(*map(self._contents_of, earlier))
        for page in pages:
            news = {
                content
                for content in self._contents_of(page) - known
                if self._template_by_content.get(content, template) == template
            }
            yield bool(news)
            known |= news

    @cached_property
    def _template_by_content(self) -> dict[str, UrlTemplate | None]:
        """The template whose last pages have a content; None when several templates have it."""
        templates: dict[str, UrlTemplate | None] = {}
        if len(self.pages) > 1:
            for template, pages in self.pages.items():
                for content in set().union(*map(self._contents_of, pages[-self.trap_limit :])):
                    templates[content] = None if content in templates else template
        return templates

    def _contents_of(self, member: TemplateMember) -> set[str]:
        return url_templates.page_contents(self._visited(member))

    def _visited(self, member: TemplateMember) -> TemplatePage:
        is_shown = member.state is State.INDEXABLE
        row = self.db.execute(_TEXT, (member.content,)).fetchone() if is_shown else None
        markup = load_markup(row[0]) if row else ""
        return TemplatePage(member.url, markup, (*self.brought.get(member.id, ()), *self._listed_targets(member)))

    def _listed_targets(self, member: TemplateMember) -> Iterator[Url]:
        """The linked pages that a sitemap had named before any page linked to them."""
        row = self.db.execute(_LINKS, (member.content,)).fetchone()
        ids = msgspec.json.encode([number for number, _ in unpack_links(row[0])] if row else []).decode()
        for (url,) in self.db.execute(_NAMED_BY_SITEMAP, (ids,)):
            yield url


GroupKey = TypeVar("GroupKey", str, UrlTemplate)
_OK_STATUS: Final = 200
_DECISIONS_KEY: Final = "endless"  # in the table about
_PATIENCE_DIVISOR: Final = 10  # each template of a path may have this part of the trap limit in any case
_SPARE_MEMBERS: Final = 100  # beyond twice the room, before the deeper ones are dropped
_SELECT_MEMBERS: Final = """SELECT v.id, u.url, p.url, v.depth, v.state, v.status, v.content FROM visit v
  JOIN url u ON u.id = v.id JOIN url p ON p.id = v.source WHERE v.kind = ? AND {}"""

_IS_POSTPONED: Final = f"v.state = '{State.TRAP}' AND v.status IS NULL AND v.reason LIKE '{url_templates.TRAP_PREFIX}%'"

_POSTPONED: Final = _SELECT_MEMBERS.format(_IS_POSTPONED)
_POSTPONED_AND_REMEMBERED: Final = _SELECT_MEMBERS.format(
    f"{_IS_POSTPONED} AND EXISTS (SELECT 1 FROM memory m WHERE m.id = v.id AND m.state != '{State.TRAP}')"  # noqa: S608
)

_IS_ADMITTED: Final = f"(v.attempts > 0 OR v.state = '{State.PENDING}' OR {_IS_POSTPONED})"
_ADMITTED: Final = _SELECT_MEMBERS.format(_IS_ADMITTED)
_COUNTED: Final = f"""SELECT u.url, p.url, {_IS_POSTPONED} FROM visit v JOIN url u ON u.id = v.id
  JOIN url p ON p.id = v.source WHERE v.kind = ? AND {_IS_ADMITTED}"""  # noqa: S608 - our own

_DISCOVERED: Final = f"""SELECT v.source, u.url FROM visit v JOIN url u ON u.id = v.id
  WHERE v.state = '{State.INDEXABLE}' AND v.source IS NOT NULL"""  # noqa: S608

_IS_KNOWN: Final = "SELECT 1 FROM url u JOIN visit v ON v.id = u.id WHERE u.url = ?"
_IS_REMEMBERED: Final = f"""SELECT 1 FROM url u JOIN memory m ON m.id = u.id
  WHERE u.url = ? AND m.state != '{State.TRAP}'"""  # noqa: S608

_LISTED: Final = """SELECT u.url FROM visit v JOIN memory m ON m.id = v.id JOIN url u ON u.id = v.id
  WHERE v.found & ? AND v.attempts > 0"""

_SET_STATE: Final = "UPDATE visit SET state = ?, reason = ? WHERE id = ?"


class _TrapDecisions(Struct, frozen=True):
    """What a resumed run cannot count: which templates are endless, and how many URLs others may have."""

    vain: list[UrlTemplate] = []
    allowed: list[tuple[UrlTemplate, int]] = []


class TrapDetector:
    """Counts the generated URLs of each template. Of ``patience`` pages in a row, one must bring news; 0: no limit.

    All templates of a path may have twice that many URLs before any is postponed. Every method is part of the caller's
    transaction; call :meth:`reset` when that fails. ``out`` holds the leases that are out.
    """

    def __init__(
        self, db: sqlite3.Connection, state_counts: StateCounts, out: Mapping[int, Lease], patience: int
    ) -> None:
        self._db = db
        self._out = out
        self._state_counts = state_counts
        self._trap_limit = patience
        self._slack: Counter[str] = Counter()  # by path: how many more URLs of an endless template are visited
        self._notes: dict[str, str] = {}  # by path
        self._is_counted = False
        self._copies = CopyDetector(db, state_counts, out, patience)
        self._count()

    @property
    def notes(self) -> list[str]:
        """A note for each trap that was left out."""
        return [*self._notes.values(), *self._copies.notes.values()]

    def read(self, outcome: Outcome) -> bool:
        """Compare a page with those before it. Returns whether pending URLs were postponed."""
        return self._trap_limit > 0 and self._copies.read(outcome)

    def finish(self, lease: Lease) -> bool:
        """Compare a page again, when its new URLs are known. Returns whether pending URLs were postponed."""
        return self._trap_limit > 0 and self._copies.finish(lease)

    def reset(self) -> None:
        """Count again at the next call."""
        self._is_counted = False

    def template_of(self, find: DiscoveredUrl) -> UrlTemplate | None:
        """The template of a URL if the page it is discovered on, which is ``out``, generates it."""
        if not self._trap_limit or find.source is None or find.kind is not DocumentKind.PAGE:
            return None
        lease = self._out.get(find.source)
        return url_templates.shared_template(find.url, lease.url, self._is_known) if lease else None

    def keeps(self, find: DiscoveredUrl) -> bool:
        """Whether a URL stays postponed though one more page leads to it."""
        return self.template_of(find) is not None or (self._trap_limit > 0 and self._copies.refusal(find) is not None)

    def refusal(self, find: DiscoveredUrl) -> Verdict | None:
        """Why a new URL is postponed; None when it is visited."""
        template = self.template_of(find)
        if self._trap_limit and (copy := self._copies.refusal(find)):
            return copy
        if template is None or self._copies.decides_later(find):
            return None
        self._count()
        own = self._own[template]
        allowed = self._allowed.get(template, max(1, self._trap_limit // _PATIENCE_DIVISOR))
        # twice, because the later half of them is judged (:meth:`Novelty.judged_count`)
        is_enough = self._family[template.path] >= 2 * self._trap_limit and own >= allowed
        is_enough = is_enough and template not in self._vain
        if template in self._vain and not self._is_remembered(find.url):
            self._slack[template.path] -= 1
            is_enough = self._slack[template.path] < 0
        if is_enough:
            self._waiting.add(template)
            return Verdict(State.TRAP, url_templates.trap_reason(template, own))
        self._family[template.path] += 1
        self._own[template] += 1
        return None

    def review_postponed(self) -> bool:
        """Judge the postponed URLs, when all else is visited. Returns whether some are visited now."""
        if self._trap_limit and self._copies.review():
            return True
        self._count()
        waiting = self._waiting - self._vain
        paths = sorted({template.path for template in waiting} | self._closing)
        if not paths:
            return False
        novelty = self._novelty_by_path({*paths})
        # URLs that a sitemap lists have no depth that gives their order
        judged = {template for template in self._carried if novelty[template.path].has_news(template)}
        again = judged - {*self._listed(judged)}
        self._vain -= again
        waiting |= again & self._waiting
        self._carried.clear()
        for template in waiting - again:
            if novelty[template.path].has_no_news(template):
                self._vain.add(template)
                self._closing.add(template.path)
        revived = self._close({path: novelty[path] for path in paths if path in self._closing})
        admitted = self._admit_more(waiting - self._vain)
        self._remember()
        return admitted or revived

    def _count(self) -> None:
        """Count the URLs in the state, unless this is done."""
        if self._is_counted:
            return
        self._is_counted = True
        self._family: Counter[str] = Counter()
        self._own: Counter[UrlTemplate] = Counter()
        self._waiting: set[UrlTemplate] = set()
        rows = self._db.execute(_COUNTED, (DocumentKind.PAGE,)) if self._trap_limit else ()
        for url, parent, is_postponed in rows:
            template = url_templates.shared_template(url, parent, self._is_known)
            if template is None:
                continue
            if is_postponed:
                self._waiting.add(template)
            else:
                self._family[template.path] += 1
                self._own[template] += 1
        encoded = read_about(self._db, _DECISIONS_KEY)
        decided = msgspec.json.decode(encoded, type=_TrapDecisions) if encoded else _TrapDecisions()
        self._vain = set(decided.vain)
        self._closing = {template.path for template in self._vain}
        # decided by the previous run: its pages are read again, and may bring news now
        self._carried = set() if self._own else set(self._vain)
        self._inherited = frozenset(self._carried)
        self._allowed = dict(decided.allowed) if self._own else {}

    def _remember(self) -> None:
        vain = self._vain - (self._inherited - self._waiting)  # drops templates that ended
        decided = _TrapDecisions(sorted(vain), sorted(self._allowed.items()))
        write_about(self._db, _DECISIONS_KEY, msgspec.json.encode(decided).decode())

    def _is_remembered(self, url: Url) -> bool:
        return self._db.execute(_IS_REMEMBERED, (url,)).fetchone() is not None

    def _listed(self, templates: Set[UrlTemplate]) -> Counter[UrlTemplate]:
        """The number of URLs of each template that an earlier run knew and a sitemap lists, even our own."""
        listed = (url_templates.template_of(url) for (url,) in self._db.execute(_LISTED, (DiscoveredBy.SITEMAP,)))
        return Counter(template for template in listed if template in templates)

    def _members(self, query: str) -> Iterator[TemplateMember]:
        if self._trap_limit:
            for number, url, parent, depth, state, status, content in self._db.execute(query, (DocumentKind.PAGE,)):
                if template := url_templates.shared_template(url, parent, self._is_known):
                    yield TemplateMember(depth, url, number, template, State(state), status, content)

    def _is_known(self, url: str) -> bool:
        return self._db.execute(_IS_KNOWN, (url,)).fetchone() is not None

    def _novelty_by_path(self, paths: set[str]) -> dict[str, Novelty]:
        """The novelty of the last pages of each template of these paths."""
        last: defaultdict[str, defaultdict[UrlTemplate, list[TemplateMember]]] = defaultdict(lambda: defaultdict(list))
        limit = KEPT_PAGES * self._trap_limit
        for member in self._members(_ADMITTED):
            if member.template.path in paths and member.status == _OK_STATUS:
                pages = last[member.template.path][member.template]
                pages.append(member)
                if len(pages) > 2 * limit:
                    pages[:] = nlargest(limit, pages)
        members = [page for family in last.values() for pages in family.values() for page in pages]
        brought = self._discovered({page.id: page.url for page in members})
        return {
            path: Novelty(
                self._db,
                {template: sorted(pages)[-limit:] for template, pages in sorted(last[path].items())},
                brought,
                self._trap_limit,
            )
            for path in paths
        }

    def _discovered(self, pages: dict[int, Url]) -> dict[int, list[Url]]:
        """The indexable URLs first discovered on these pages, by page id, without generated ones."""
        brought: defaultdict[int, list[Url]] = defaultdict(list)
        for source, url in self._db.execute(_DISCOVERED):
            if source in pages and not url_templates.shared_template(url, pages[source], self._is_known):
                brought[source].append(url)
        return brought

    def _close(self, novelty: Mapping[str, Novelty]) -> bool:
        """End the endless templates: visit the least deep URLs that have room, and drop the others.

        Since answers come in any order, deeper URLs may have been visited in their place: these are dropped too, unless
        they bring news. So the result does not depend on the order of answers.
        """
        vain: defaultdict[str, list[UrlTemplate]] = defaultdict(list)
        for template in sorted(self._vain, key=lambda template: (template.names.count("&"), template)):
            if template.path in novelty:
                vain[template.path].append(template)
        listed = self._listed(self._vain)
        rooms = {}
        for path, templates in vain.items():
            room = max(self._allowed.get(template, 0) for template in templates) or 2 * self._trap_limit
            rooms[path] = max(0, room - sum(listed[template] for template in templates))
        paths = {template: path for path, templates in vain.items() for template in templates}
        # the URLs that an earlier run visited are visited again
        remembered = [member for member in self._members(_POSTPONED_AND_REMEMBERED) if member.template in paths]
        self._readmit(remembered)
        nearest = self._nearest(_ADMITTED, paths, rooms)
        waiting = self._nearest(_POSTPONED, paths, dict.fromkeys(rooms, 1))
        revived = bool(remembered)
        for path, templates in vain.items():
            near, own = nearest.get(path, []), sum(self._own[template] for template in templates)
            if missing := [member for member in near if member.is_postponed]:
                self._slack[path] = own - rooms[path] - len(missing)
                self._readmit(missing)
                revived = True
                continue
            self._closing.discard(path)
            self._slack[path] = 0
            if near:
                self._drop_behind(templates, near[-1], novelty[path])
            for rest in waiting.get(path, ()):
                self._notes[path] = url_templates.trap_note(
                    templates, rest.url, own, sum(map(novelty[path].judged_count, templates))
                )
        return revived

    def _drop_behind(self, templates: list[UrlTemplate], last: TemplateMember, novelty: Novelty) -> None:
        """Leave out the pages after the last one that has room, unless they bring news."""
        for template in templates:
            for page in novelty.pages_without_news(template, last):
                if not self._is_remembered(page.url):
                    reason = (
                        f"{url_templates.TRAP_PREFIX}URLs like {template} had already been read, and this page "
                        f"has nothing new"
                    )
                    self._move(page, State.TRAP, reason)

    def _admit_more(self, templates: set[UrlTemplate]) -> bool:
        """Admit as many more URLs of these templates as there are so far, the least deep first."""
        rooms = {}
        for template in templates:
            room = 2 * self._trap_limit
            while room <= self._own[template]:
                room *= 2
            self._allowed[template] = room
            rooms[template] = room - self._own[template]
        more = {template: room + 1 for template, room in rooms.items()}
        near = self._nearest(_POSTPONED, {template: template for template in rooms}, more)
        for template, room in rooms.items():
            if len(near.get(template, ())) <= room:
                self._waiting.discard(template)
        for template in sorted(near):
            self._readmit(near[template][: rooms[template]])
        return bool(near)

    def _nearest(
        self, query: str, groups: Mapping[UrlTemplate, GroupKey], rooms: Mapping[GroupKey, int]
    ) -> dict[GroupKey, list[TemplateMember]]:
        """The least deep members of each group, as many as it has room for, by one query for all groups."""
        near: defaultdict[GroupKey, list[TemplateMember]] = defaultdict(list)
        for member in self._members(query):
            if (group := groups.get(member.template)) is not None:
                near[group].append(member)
                if len(near[group]) > 2 * rooms[group] + _SPARE_MEMBERS:
                    near[group] = nsmallest(rooms[group], near[group])
        return {group: nsmallest(rooms[group], members) for group, members in near.items()}

    def _readmit(self, members: list[TemplateMember]) -> None:
        for member in members:
            self._move(member, State.PENDING, "")
            self._own[member.template] += 1
            self._family[member.template.path] += 1

    def _move(self, member: TemplateMember, after: State, reason: str) -> None:
        self._db.execute(_SET_STATE, (after, reason, member.id))
        self._state_counts.move(origin_of(member.url), member.state, after)
