"""``siteatlas compare``: shows what differs between two crawls, grouped by cause."""

import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from markupsafe import Markup
from msgspec import Struct

from crawler.audit.report.html import read_style
from crawler.audit.report.layout import Line, fitted
from crawler.cli.errors import CommandErrors
from crawler.cli.options import StatesConfigOption, with_flags
from crawler.cli.sites import find_state_directory, state_in
from crawler.crawl.documents import is_url
from crawler.dataset.build import open_dataset
from crawler.dataset.compare import BROKEN, FIELDS, TEXTS, WHOLE, ComparedPage, Comparison, Group, PageChange
from crawler.dataset.compare import compare as compare_pages
from crawler.dataset.history import Value, pages_at, reached_runs
from crawler.dataset.schema import DATASET
from crawler.errors import UsageError
from crawler.publish.change_feed import ChangeFeed
from crawler.publish.changes import Change, ChangeCounts, ChangeSample, counts_text, sample_lines
from crawler.state.runs import ROLLED_BACK, RunStore
from crawler.state.schema import STATE_DB
from crawler.units import count_text
from sitemap import safe

_MOST_SECTIONS: Final = 3
_HARDLY: Final = 0.05
"""Share of the URLs up to which two crawls of other origins have them in common by chance, such as those of a CDN."""
_ORIGIN: Final = """SELECT substr(url, 1, instr(substr(url, 9), '/') + 7), count(*) FROM pages
  GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1"""
_FOUND: Final = 10  # exit code


class ComparisonFormat(StrEnum):
    """The format of a comparison."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


class _Crawl(Struct):
    """One side: its tables, and the run of which they are shown; None for what they show by themselves.

    ``state`` is the directory of the state, if the side was given as the number of a run alone.
    """

    name: str
    tables: sqlite3.Connection
    run: int | None = None
    state: Path | None = None

    @property
    def label(self) -> str:
        """Name, number and time of the run."""
        number, started, _ = self._record()
        return f"{self.name} run {number} ({started[:16].replace('T', ' ')} UTC)".strip()

    @property
    def is_whole(self) -> bool:
        """Whether its run saw the whole site."""
        return self._record()[2] in WHOLE

    def pages(self, maps: list[tuple[str, str]]) -> Iterator[ComparedPage]:
        """Its pages, with the starts of URLs replaced."""
        if self.run is None:
            rows = self.tables.execute(f"SELECT url, {', '.join(FIELDS)} FROM pages")  # noqa: S608 - our own
            known: Iterator[tuple[str, dict[str, Value]]] = (
                (url, dict(zip(FIELDS, values, strict=True))) for url, *values in rows
            )
        else:
            known = pages_at(self.tables, self.run, FIELDS)
        for url, values in known:
            mapped = {name: _mapped(value, maps) if isinstance(value, str) else value for name, value in values.items()}
            yield ComparedPage(_mapped(url, maps), mapped)

    def _record(self) -> tuple[int, str, str]:
        query = "SELECT run, started, completeness FROM runs WHERE run = coalesce(?, run) ORDER BY run DESC LIMIT 1"
        return self.tables.execute(query, (self.run,)).fetchone() or (0, "", "")


class _SitemapChanges(Struct):
    """What changed in the sitemap between two runs: how much, and the first changes of each kind.

    ``rollback`` says that a rollback has replaced the sitemap of the later run, or is "".
    """

    counts: ChangeCounts
    changes: list[Change]
    rollback: str = ""


@with_flags("state.directory", "site.sitemap_url")
def compare(  # noqa: PLR0913 - the options of a command
    words: list[str] | None = None,
    maps: list[str] | None = None,
    form: ComparisonFormat = ComparisonFormat.TEXT,
    limit: int = 25,
    lists_all: bool = False,
    fail_on: list[str] | None = None,
    config: StatesConfigOption = None,
    site: str | None = None,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Show what differs between two crawls: pages, and each field of each page, grouped by cause.

    compare leaves out counters, nonces and small changes of counts. What a partial crawl did not see is not gone. For
    two runs of one site, it also shows what changed in the sitemap, and why.
    """
    with CommandErrors(verbose) as errors:
        names = _known_fields(fail_on or [])
        limit = 0 if lists_all else limit
        pairs = [_parse_map(text) for text in maps or []]
        first, *others = dict.fromkeys(filter(is_url, words or [])) or [None]
        url = None if others else first  # two URLs are the two sides
        sides = [word for word in words or [] if word != url]
        if len(sides) > 2:
            raise UsageError(f"{len(sides)} crawls are too many, because compare compares two")
        with ExitStack() as opened:
            find = partial(find_state_directory, file=config, site=site, flags=flags, audited=True)
            old, new = (opened.enter_context(_open(word, url, find)) for word in _with_defaults(sides))
            kinds = {"is_whole": new.is_whole, "was_whole": old.is_whole, "lists_all": lists_all}
            result = compare_pages(old.pages(pairs), new.pages([]), **kinds)
            if hint := _map_hint(result.both, (old, new), pairs):
                errors.print_line(hint)
            sitemap = _sitemap_changes(old, new, 0 if form is ComparisonFormat.JSON else limit)
            sys.stdout.writelines(_FORMS[form](result, sitemap, (old.label, new.label), limit))
        sys.stdout.flush()
        if any(group.fields & names or "any" in names for group in result.groups):
            errors.exit_code = _FOUND


def _map_hint(both: int, sides: tuple[_Crawl, _Crawl], maps: list[tuple[str, str]]) -> str:
    """What to do if hardly any URL is in both crawls, because most of each have another origin; "" otherwise."""
    (old, one), (new, other) = (side.tables.execute(_ORIGIN).fetchone() or ("", 0) for side in sides)
    if _mapped(old, maps) == new or both > _HARDLY * min(one, other):
        return ""
    return f"hardly any URL is in both crawls. If they are one site, add --map {old}={new}"


def _known_fields(names: list[str]) -> set[str]:
    known = ("any", "pages", BROKEN, *FIELDS)
    for name in names:
        if name not in known:
            raise UsageError(f"--fail-on does not know {name!r}. It knows {', '.join(known)}")
    return {*names}


def _parse_map(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise UsageError(f"--map {text!r} is not OLD=NEW, such as https://www.example.com=https://staging.example.com")
    return old, new


def _with_defaults(sides: list[str]) -> list[str]:
    """Both sides. A negative number is that of a run from the end."""
    return ["-2", "-1"] if not sides else sides if len(sides) > 1 else [*sides, "-1"]


@contextmanager
def _open(word: str, url: str | None, find: Callable[[str | None], Path]) -> Iterator[_Crawl]:
    """One side: the number of a run of ``url``, another URL, or a file or directory. Raises UsageError.

    ``find`` gives the state of a URL.
    """
    name, mark, number = word.rpartition("@")
    is_run = number.removeprefix("-").isdecimal() and (not mark or (bool(name) and not Path(word).exists()))
    named = name if is_run else word
    place = find(named) if is_url(named) else Path(named)
    state = find(url) if is_run and not mark else None
    if state:
        tables = open_dataset(state, is_audited=False)
    elif place.is_dir():
        tables = open_dataset(state_in(place) or place, is_audited=not is_run)
    else:
        tables = _open_export(place, {"pages", "runs", "history"} if is_run else {"pages", "runs"})
    with closing(tables):
        crawl = _Crawl(named, tables, state=state)
        crawl.run = _known_run(crawl, int(number)) if is_run else None
        yield crawl


def _open_export(file: Path, needed: set[str]) -> sqlite3.Connection:
    if not file.exists():
        raise UsageError(f"there is no {file}. Name a run, a file that siteatlas export wrote, or a state directory")
    db = DATASET.open_read_only(file)
    with DATASET.used(file):
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        if missing := needed - names:
            raise UsageError(f"{file} lacks the table {min(missing)}. Export the crawl again, without --table")
    return db


def _known_run(crawl: _Crawl, number: int) -> int:
    """The number of a run, which may be counted from the end. Raises UsageError if its pages are not known."""
    reached = reached_runs(crawl.tables)
    if number < 0 and len(reached) >= -number:
        return reached[number]
    if number in reached:
        return number
    there = f" of {crawl.name}" if crawl.name else ""
    if len(reached) < 2:
        audited = crawl.tables.execute("SELECT 1 FROM runs WHERE outcome = 'audited' LIMIT 1").fetchone()
        command = "audit" if audited else "crawl"
        again = f"Run siteatlas {command} again, with state.keep_history above 0, and then compare"
        raise UsageError(f"the history{there} has fewer than two runs. {again}")
    raise UsageError(f"the history{there} does not reach run {number}. It has the runs {', '.join(map(str, reached))}")


def _sitemap_changes(old: _Crawl, new: _Crawl, limit: int) -> _SitemapChanges | None:
    """None unless both sides are runs of one state, the earlier one first."""
    if not (old.state and old.state == new.state and old.run and new.run and old.run <= new.run):
        return None
    if not STATE_DB.is_in(old.state):  # audits publish nothing
        return None
    with STATE_DB.reading(old.state) as db:
        feed = ChangeFeed(db)
        if old.run < feed.run_range()[0] - 1:  # what changed then is no longer stored
            return None
        sample = ChangeSample(feed.between(old.run, new.run), limit)
        shown = list(sample)  # counts all, too
        last, rollback = RunStore(db).published(), ""
        if last and last.outcome == ROLLED_BACK and last.number > new.run:
            rollback = f"run {last.number} was a rollback: {last.refusal}, so these changes may not be published now"
        return _SitemapChanges(sample.counts, shown, rollback)


def _mapped(value: str, maps: list[tuple[str, str]]) -> str:
    for old, new in maps:
        if value.startswith(old):
            return new + value[len(old) :]
    return value


def _text(result: Comparison, sitemap: _SitemapChanges | None, labels: tuple[str, str], limit: int) -> Iterator[str]:
    lines: list[str | Line] = [f"{labels[0]} to {labels[1]}", _counts(result)]
    if not result.groups:
        lines.append("nothing else differs; the texts of pages are not compared")
    shown = result.groups[:limit] if limit else result.groups
    for group in shown:
        lines.append(Line(f"{group.pages:>7,}  ", f"{group.field}: {safe(group.words)}, {_places(group)}"))
        lines += _listed(group) or [f"         such as {safe(group.examples[0])}"]
    if rest := len(result.groups) - len(shown):
        lines.append(f"{count_text(rest, 'cause')} more; --limit 0 shows all")
    if sitemap:
        counts, *changes = sample_lines(sitemap.changes, sitemap.counts)
        lines += ["", f"in the sitemap: {counts}", *changes]
        lines += ["", sitemap.rollback] if sitemap.rollback else []
    yield fitted(lines)


def _listed(group: Group) -> list[str]:
    """Each page of a group with its values, if they are to be listed."""
    others = [(each.field, {page.url: page for page in each.all}) for each in group.by]
    lines: list[str] = []
    for page in group.all:
        more = [f"{field}: {_values(field, pages[page.url])}" for field, pages in others if page.url in pages]
        lines.append(f"         {safe(page.url)}  {safe('; '.join([_values(group.field, page), *more]))}")
    return lines


def _values(field: str, page: PageChange) -> str:
    """The values of a page before and after, in quotes if they are texts of the page."""
    mark = '"' if field in TEXTS else ""
    return " → ".join("none" if value is None else f"{mark}{value}{mark}" for value in (page.before, page.after))


def _json(result: Comparison, sitemap: _SitemapChanges | None, labels: tuple[str, str], _limit: int) -> Iterator[str]:
    named = {"before": labels[0], "after": labels[1], **msgspec.structs.asdict(result), "sitemap": sitemap}
    yield msgspec.json.format(msgspec.json.encode(named)).decode() + "\n"


def _html(result: Comparison, sitemap: _SitemapChanges | None, labels: tuple[str, str], limit: int) -> Iterator[str]:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only this format needs it

    environment = Environment(loader=PackageLoader("crawler.dataset"), autoescape=True, undefined=StrictUndefined)
    shown = result.groups[:limit] if limit else result.groups
    yield environment.get_template("compare.html").render(
        style=Markup(read_style("crawler.dataset", "compare.css")),  # noqa: S704 - our own
        before=labels[0],
        after=labels[1],
        counts=_counts(result),
        groups=[(group, _places(group)) for group in shown],
        values=_values,
        rest=len(result.groups) - len(shown),
        sitemap=sitemap,
        sitemap_counts=counts_text(sitemap.counts) if sitemap else "",
    )


def _counts(result: Comparison) -> str:
    gone = (
        "gone: not known, because the later crawl is not complete" if result.gone is None else f"{result.gone:,} gone"
    )
    gone += f" ({result.unasked:,} of them not requested)" if result.unasked else ""
    both, new = count_text(result.both, "URL"), count_text(result.new, "new page")
    return f"{both} in both crawls; {new}, {gone}, {result.moved:,} moved"


def _places(group: Group) -> str:
    names = list(group.sections)
    named = ", ".join(
        f"{name} ({group.sections[name]:,})" if len(names) > 1 else name for name in names[:_MOST_SECTIONS]
    )
    return f"under {named}" + (f" and {len(names) - _MOST_SECTIONS} more" if len(names) > _MOST_SECTIONS else "")


_FORMS: Final = {ComparisonFormat.TEXT: _text, ComparisonFormat.JSON: _json, ComparisonFormat.HTML: _html}
