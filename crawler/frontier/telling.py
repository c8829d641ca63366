"""What the offspring of one path told so far: the last pages of each template, from what was kept of them."""

import sqlite3
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final, NamedTuple

import msgspec

from crawler import traps
from crawler.frontier.links import unpack
from crawler.model import Kind, State, Url
from crawler.parse.snapshot.snapshot import unfold
from crawler.traps import Template, Visited

JUDGED: Final = 4
"""Times the patience: how many of the last pages are judged, when there were twice as many."""
KEPT: Final = JUDGED + 1  # times the patience: these, and what is compared with them

_NAMED: Final = f"""SELECT u.url FROM json_each(?) j JOIN visit v ON v.id = j.value JOIN visit s ON s.id = v.source
  JOIN url u ON u.id = v.id WHERE v.state = '{State.INDEXABLE}' AND s.kind = {int(Kind.SITEMAP)}"""  # noqa: S608


class Member(NamedTuple):
    """An offspring. Those nearer to the start come first, whatever the order of answers was."""

    depth: int
    url: Url
    id: int
    template: Template
    state: State
    status: int | None
    content: int | None

    @property
    def waits(self) -> bool:
        """Whether it was never asked for, and is not to be."""
        return self.state is State.TRAP and self.status is None


class Telling:
    """The last ``pages`` of each template of a path, those that were answered, in order. ``brought`` are the pages that
    were found first on each of them, by id, and are no offspring of it."""

    def __init__(
        self,
        db: sqlite3.Connection,
        pages: Mapping[Template, list[Member]],
        brought: Mapping[int, list[Url]],
        patience: int,
    ) -> None:
        self._db = db
        self._pages = pages
        self._brought = brought
        self._patience = patience

    def judged(self, template: Template) -> int:
        """How many of the last pages of a template are judged."""
        return min(JUDGED * self._patience, len(self._pages.get(template, ())) // 2)

    def is_telling(self, template: Template) -> bool:
        """Whether enough was read of a template, and some of what is judged told something."""
        return self.judged(template) >= self._patience and not self.is_vain(template)

    def is_vain(self, template: Template) -> bool:
        """Whether all that are judged told nothing. Of fewer than a few nobody can tell."""
        judged = self.judged(template)
        if judged < max(1, self._patience // 20):
            return False
        return not any(self._news(template, self._pages[template][-judged:], judged))

    def quiet(self, template: Template, after: Member) -> Iterator[Member]:
        """The pages for the sitemap behind a certain one that told nothing."""
        pages = [
            each for each in self._pages.get(template, ()) if each > after and each.state is State.INDEXABLE
        ]
        behind = sum(each > after for each in self._pages.get(template, ()))
        for each, tells in zip(pages, self._news(template, pages, behind), strict=True):
            if not tells:
                yield each

    def _news(self, template: Template, pages: list[Member], behind: int) -> Iterator[bool]:
        """Of each of these pages in turn, whether it tells what none before them told, and no other template of the
        path; ``behind`` so many are the pages of the template that are not before them."""
        every = self._pages.get(template, [])
        before = every[: len(every) - behind][-self._patience :]
        told = set().union(*map(self._tells, before))
        for each in pages:
            new = {said for said in self._tells(each) - told if self._tellers.get(said, template) == template}
            yield bool(new)
            told |= new

    @cached_property
    def _tellers(self) -> dict[str, Template | None]:
        """Which template tells something with its last pages; None: more than one does."""
        tellers: dict[str, Template | None] = {}
        if len(self._pages) > 1:
            for template, pages in self._pages.items():
                for said in set().union(*map(self._tells, pages[-self._patience :])):
                    tellers[said] = None if said in tellers else template
        return tellers

    def _tells(self, member: Member) -> set[str]:
        return traps.tells(self._visited(member))

    def _visited(self, member: Member) -> Visited:
        markup = ""
        if member.state is State.INDEXABLE and member.content is not None:
            row = self._db.execute("SELECT text FROM content WHERE id = ?", (member.content,)).fetchone()
            markup = (unfold(row[0]) or "") if row else ""
        return Visited(member.url, markup, (*self._brought.get(member.id, ()), *self._led_to(member)))

    def _led_to(self, member: Member) -> Iterator[Url]:
        """The pages it links to that a sitemap had named before any page could bring them."""
        row = self._db.execute("SELECT links FROM content WHERE id = ?", (member.content,)).fetchone()
        ids = msgspec.json.encode([number for number, _ in unpack(row[0])] if row else []).decode()
        for (url,) in self._db.execute(_NAMED, (ids,)):
            if traps.template_of(url).path != member.template.path:
                yield url
