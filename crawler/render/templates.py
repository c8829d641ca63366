"""Which pages are rendered: decided for each template, by what rendering changed on its first pages. Pure.

A template is the shape of the URL with the scripts that the raw page loads and the empty places that these may fill.
Marks of a framework decide nothing: a page that Next or Nuxt rendered on the server says the same before and after, so
it is read raw. A template that is read raw is judged by few pages, so others are compared in each run: the one with the
least to read so far, and now and then any.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from crawler.model import DiscoveredBy, Page, Url
from crawler.url.normalize import origin_of

NEW_SAMPLES: Final = 2
"""Pages of a new template that are read both ways."""
MAX_ALIKE: Final = 3
"""Templates that load the same scripts and are read raw, after which others need no comparison."""
MAX_TEMPLATES: Final = 2_000
"""Templates whose decision is kept between runs, the last used ones."""
MAX_FAILURES: Final = 3
"""Pages of a template in a row that could not be rendered, after which the rest is read raw."""
_THINNER: Final = 0.9
"""Share of the least that a compared page had, up to which another one is compared. With any less, pages that come in
the order of their sizes would all be compared."""
_ALIKE_IN_SCRIPTS: Final = 8
"""Templates that differ only in their empty places count as one: a page may write its own name into a place."""
_SAMPLED: Final = frozenset(4**power for power in range(1, 16))
"""Which pages of those that are read raw are compared all the same, counted for pages with the same scripts."""
_MAX_CACHED: Final = 10_000  # characters of the addresses of scripts
_SHARE_OF_WORDS: Final = 0.05
"""Words that only one reading has: more of them are another main text."""
# what builds put into the names of bundles: hashes and versions
_hash = re.compile(r"[0-9a-f]{6,}|(?<=[.-])[A-Za-z0-9_]{8,32}(?=\.m?js\b)|[0-9]+").sub
_word = re.compile(r"[^\W\d_]{2,40}").findall
_tags = re.compile(r"<[^<>]*+>").sub


class Mode(StrEnum):
    """How the pages of a template are read."""

    UNDECIDED = ""
    RAW = "raw"
    RENDERED = "rendered"


class Choice(StrEnum):
    """What to do with one page."""

    RAW = "raw"
    RENDER = "render"
    COMPARE = "compare"  # render it, and learn from the difference
    WAIT = "wait"  # until a comparison of its template has ended


class TemplateRecord(Struct):
    """What is known of a template: how its pages are read, why, by which scripts.

    ``links`` and ``size`` are the least that a page had whose two readings were equal.
    """

    mode: Mode = Mode.UNDECIDED
    reason: str = ""
    scripts: str = ""
    equal: int = 0  # comparisons without a difference since the last change of its scripts
    links: int = 0
    size: int = 0
    sampled: int = 0  # comparisons in this run
    running: int = 0  # comparisons under way
    raw: int = 0  # pages read raw in this run, judged by those


class RawPage(Struct, frozen=True):
    """What the decision needs of a raw page: ``scripts`` with its empty places, and the ``size`` of its snapshot."""

    url: Url
    scripts: list[str]
    size: int
    links: int


def template_key(url: Url, scripts: Iterable[str]) -> str:
    """The template of a page: origin, number of segments, first segment of several, ending; and its scripts."""
    parts = urlsplit(url)
    segments = [part for part in parts.path.split("/") if part]
    first = segments[0] if len(segments) > 1 else ""
    ending = segments[-1].rpartition(".")[2] if segments and "." in segments[-1] else ""
    names = _names_of(tuple(scripts))
    return " ".join((origin_of(url), str(len(segments)), first, ending, bool(parts.query) * "?", *names))


def _names_of(scripts: tuple[str, ...]) -> tuple[str, ...]:
    return _cached_names(scripts) if sum(map(len, scripts)) < _MAX_CACHED else _distinct_names(scripts)


def _distinct_names(scripts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({unhashed(script) for script in scripts}, key=lambda name: (name[:1] == "<", name)))


_cached_names = lru_cache(maxsize=64)(_distinct_names)  # the pages of a template load the same scripts


def _scripts_of(key: str) -> str:
    """The origin and the scripts of a template."""
    origin, *_, scripts = key.split(" ", 5)
    return f"{origin} {scripts}"


def _without_places(key: str) -> str:
    return _scripts_of(key).partition(" <")[0]


def unhashed(script: str) -> str:
    """The address of a script without what a build changes in it."""
    return _hash("#", script.partition("?")[0])


class Templates:
    """The decisions of one run; ``known`` are those of the runs before, by template.

    After ``max_failures`` pages of a template in a row that the browser could not render, no more of them are tried in
    this run: each would cost minutes.
    """

    def __init__(self, known: Mapping[str, TemplateRecord], max_failures: int = MAX_FAILURES) -> None:
        self._max_failures = max_failures
        self._failures: Counter[str] = Counter()  # in a row, by template
        self._records = dict(known)
        self._has_rendered = any(record.mode is Mode.RENDERED for record in known.values())
        self._alike: Counter[str] = Counter()  # templates that were compared in this run and are raw, by their scripts
        self._equal: Counter[str] = Counter()  # templates with an equal page, by their scripts, whatever their places
        self._judged: Counter[str] = Counter()  # pages that were read raw in this run, by their scripts
        self.late = 0  # pages that were read raw before their template was found to differ
        for record in self._records.values():
            record.sampled = record.running = record.raw = 0

    def records(self) -> dict[str, TemplateRecord]:
        """The decisions to keep, at most ``MAX_TEMPLATES``."""
        decided = [(key, record) for key, record in self._records.items() if record.mode]
        return dict(decided[-MAX_TEMPLATES:])

    def is_rendered(self, url: Url, scripts: Iterable[str]) -> bool:
        """Whether the pages of the template of a page are rendered."""
        if not self._has_rendered:
            return False
        record = self._records.get(template_key(url, scripts))
        return record is not None and record.mode is Mode.RENDERED

    def record_end(self, page: RawPage, *, has_failed: bool) -> None:
        """Note whether the browser could render a page."""
        key = template_key(page.url, page.scripts)
        self._failures[key] = self._failures[key] + 1 if has_failed else 0

    def has_given_up(self, page: RawPage) -> bool:
        """Whether no more pages of the template of a page are tried in this run."""
        return self._failures[template_key(page.url, page.scripts)] >= self._max_failures

    def choose(self, page: RawPage) -> Choice:
        """What to do with a page. After ``COMPARE``, :meth:`end_comparison` must follow, with or without a result."""
        if not page.scripts:
            return Choice.RAW
        key = template_key(page.url, page.scripts)
        record = self._records.pop(key, None) or TemplateRecord()
        self._records[key] = record  # the last used ones are at the end
        choice = self._choice(record, page, key)
        if choice is Choice.COMPARE:
            record.running += 1
        return choice

    def _choice(self, record: TemplateRecord, page: RawPage, key: str) -> Choice:
        if record.mode is Mode.RENDERED:
            return Choice.RENDER
        # a page with less to read than those whose readings were equal may be waiting for a script
        is_thin = page.size < _THINNER * record.size or page.links < _THINNER * record.links
        alike = self._sampled_alike(key)
        is_known = record.sampled > 0 or alike >= MAX_ALIKE
        if is_known and not is_thin and (record.mode is Mode.RAW or alike >= MAX_ALIKE):
            scripts = _scripts_of(key)
            self._judged[scripts] += 1
            if self._judged[scripts] in _SAMPLED:
                return Choice.COMPARE
            record.raw += 1
            return Choice.RAW
        wanted = 1 if record.mode is Mode.RAW or alike else NEW_SAMPLES - record.equal
        return Choice.COMPARE if record.running < wanted else Choice.WAIT

    def _sampled_alike(self, key: str) -> int:
        """How many templates of the site that load the same scripts were compared in this run, and are read raw."""
        return max(self._alike[_scripts_of(key)], self._equal[_without_places(key)] // _ALIKE_IN_SCRIPTS)

    def learn(self, page: RawPage, differences: Iterable[str], scripts: str) -> None:
        """Learn from the two readings of a page. ``scripts`` is the digest of the scripts that it ran."""
        key = template_key(page.url, page.scripts)
        record = self._records[key]
        was_raw = record.sampled > 0 and record.mode is Mode.RAW
        self._learn(record, page, key, [*differences], scripts)
        self._alike[_scripts_of(key)] += (record.mode is Mode.RAW) - was_raw
        self._equal[_without_places(key)] += record.equal == 1

    def _learn(self, record: TemplateRecord, page: RawPage, key: str, reasons: list[str], scripts: str) -> None:
        if record.scripts != scripts:  # a new build, or another one than that of the run before
            is_new = not record.scripts
            record.scripts = scripts
            if not is_new and record.mode is Mode.RAW:
                record.mode, record.equal = Mode.UNDECIDED, 0
        record.sampled += 1
        if reasons:
            record.mode, record.reason, record.equal = Mode.RENDERED, ", ".join(reasons), 0
            self._has_rendered = True
            self.late, record.raw = self.late + record.raw, 0
            return
        record.equal += 1
        record.size = min(record.size or page.size, page.size)
        record.links = min(record.links or page.links, page.links)
        if record.equal >= NEW_SAMPLES or self._sampled_alike(key):
            record.mode, record.reason = Mode.RAW, ""

    def end_comparison(self, page: RawPage) -> None:
        """A comparison has ended; :meth:`learn` may have had its result."""
        self._records[template_key(page.url, page.scripts)].running -= 1


def raw_page(url: Url, page: Page) -> RawPage:
    """What the decision needs of a raw page."""
    return RawPage(url, page.scripts, len(page.text), len(_own_links(url, page)))


def words_of(markup: str) -> set[str]:
    """The distinct words of a snapshot's markup, in lower case."""
    return set(_word(_tags(" ", markup).lower()))


def differences(url: Url, raw: Page, rendered: Page, raw_words: set[str], rendered_words: set[str]) -> list[str]:
    """What rendering changed of a page, among what counts for a sitemap and its date."""
    found = ["redirect"] if raw.refresh != rendered.refresh else []
    if _own_links(url, raw) != _own_links(url, rendered):
        found.append("links")
    if raw.canonicals != rendered.canonicals:
        found.append("canonical")
    if (bool(raw.noindex), raw.nofollow) != (bool(rendered.noindex), rendered.nofollow):
        found.append("robots")
    if " ".join(raw.title.split()) != " ".join(rendered.title.split()):
        found.append("title")
    if len(raw_words ^ rendered_words) > _SHARE_OF_WORDS * max(len(raw_words), len(rendered_words), 1):
        found.append("main text")
    return found


def _own_links(url: Url, page: Page) -> set[Url]:
    """The pages of the same origin that a page links to."""
    start, link = f"{origin_of(url)}/", DiscoveredBy.LINK
    return {target for target, found in page.links if found & link and target.startswith(start)}
