"""``siteatlas move``: maps the pages of an old site to those of the new one, and checks maps of redirects."""

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urljoin

import anyio
import msgspec
import typer

from crawler.api import crawl_site
from crawler.cli.errors import CommandErrors
from crawler.cli.help import HelpfulCommand, command_group, epilog_of
from crawler.cli.options import REQUEST_KEYS, site_config, with_flags
from crawler.cli.sites import state_in
from crawler.config.plan import AUDIT
from crawler.crawl.documents import is_url, named_files, open_documents
from crawler.crawl.sitemap_download import Downloader, origins_of
from crawler.dataset.build import open_dataset
from crawler.errors import FindingsFound, Incomplete, NothingCrawlable, UsageError
from crawler.model import Url
from crawler.moves.check import NOTE, MapFinding, check_answers, check_map, trail
from crawler.moves.formats import FORMATS, Redirect, csv_table, read_map, write_map
from crawler.moves.inventory import named_urls, place_of, place_on, read_folder, read_state, read_urls
from crawler.moves.matcher import REDIRECTED, Grade, Inventory, Match, match_pages
from crawler.moves.probe import MAX_BODY, live_ends, live_probe
from crawler.units import count_text
from crawler.url.normalize import origin_of
from sitemap import SitemapError, destination_error, iter_entries, replacement, safe

move = command_group("Map the pages of an old site to those of the new one, and check maps of redirects.")
Format = Annotated[str, typer.Option("--format", metavar="NAME", help=f"Format: {', '.join(FORMATS)}.")]
_MAX_SHOWN: Final = 20  # findings of a rule
_SAMPLED: Final = 5  # rows that are also asked in other spellings
_SITEMAPS: Final = (".xml", ".xml.gz")
_UNKNOWN_PATH: Final = "/siteatlas-asks-for-no-page"
_MAX_BYTES: Final = 50 * 2**20  # of a sitemap: https://www.sitemaps.org/protocol.html


def _known_format(name: str) -> str:
    if name not in FORMATS:
        raise UsageError(f"there is no format {name!r}. The formats are {', '.join(FORMATS)}")
    return name


@with_flags(*REQUEST_KEYS)
def map_(  # noqa: PLR0913 - the options of a command
    old: str,
    new: str,
    output: Path | None = None,
    form: Format = "csv",
    said: list[Path] | None = None,
    site: str = "",
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Find for each page of an old site the page of the new site that takes its place.

    The CSV map has every old page that is or was in its sitemap and is not at the same path, and each such orphan of
    its audit, with a grade and the reason: sure, likely, look (a person decides) or none. For a folder, all its pages
    count. Pages with visits or clicks are first. Other formats get the rows that are sure or likely. Check the map with
    siteatlas move check.
    """
    with CommandErrors(verbose):
        _known_format(form)
        before = _open_side(old, flags, site)
        after = _open_side(new, flags, site, [page.path for page in before.pages])
        pairs = {place_of(row.source): place_of(row.target) for path in said or () for row in map_rows(path)}
        matches = [*match_pages(before.pages, after.pages, pairs)]
        if is_url(new) and after.origin:
            # a page that nothing links to may live on unseen
            found = _found_at(after.origin, [match.old for match in matches if match.grade is Grade.NONE], flags)
            matches = [found.get(match.old, match) for match in matches]
        visits = _visits_of(old)
        matches.sort(key=lambda match: (-visits[match.old], match.old))
        is_other = bool(before.origin and after.origin and before.origin != after.origin)
        moved = [match for match in matches if is_other or match.new != match.old]
        is_whole = is_other or (form == "csv" and bool(site))
        sides = [(side.origin or site.rstrip("/")) if is_whole else "" for side in (before, after)]
        rows = [(Redirect(sides[0] + match.old, match.new and sides[1] + match.new), match) for match in moved]
        notes: list[str] = []
        if form == "csv":
            text = csv_table(
                "old,new,status,grade,reason,visits\n",
                (
                    (row.source, row.target, row.target and row.status, match.grade, match.reason, visits[match.old])
                    for row, match in rows
                ),
            )
        else:
            redirects = [row for row, match in rows if match.grade in REDIRECTED]
            text, notes = write_map(form, redirects, before.origin or after.origin or site)
        _write_output(text, output)
        grades = Counter(match.grade for match in moved)
        counts = ", ".join(f"{grades[grade]:,} {grade}" for grade in Grade)
        stay = f"{len(matches) - len(moved):,} at the same path"
        sys.stderr.write(f"{count_text(len(matches), 'old page')}: {stay}, {counts}\n")
        if before.others:
            others = f"{count_text(before.others, 'URL')} of the old site that it does not list"
            notes.append(f"{others} (redirects, noindex, other canonicals): no row. Add those that people still use")
        sys.stderr.writelines(f"note: {note}\n" for note in notes)


@with_flags(*REQUEST_KEYS)
def check(  # noqa: PLR0913 - the options of a command
    file: Path,
    new: str | None = None,
    ask: str | None = None,
    platform: str | None = None,
    convert: Path | None = None,
    site: str = "",
    as_json: bool = False,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Check a map of redirects: by itself, against the new site, and as a server answers.

    check finds rows that contradict each other, loops, chains, temporary redirects, and many rows with one target. With
    --new it finds targets that are missing or not listed, and rows that hide a page. With --ask it requests each
    source: it must lead to its target in one permanent redirect. Of a CSV map, rows of the grade look do not count
    until you set another grade.
    """
    with CommandErrors(verbose) as errors:
        if convert is not None and platform is None:
            raise UsageError("-o needs --for NAME, which says in which format to write")
        given = _read(file)
        rows = read_map(given, str(file))
        undecided = len(read_map(given, str(file), skipped={Grade.NONE})) - len(rows)
        named = [place_of(url) for row in rows for url in (row.source, row.target)]
        after = _open_side(new, flags, site.rstrip("/"), named) if new else None
        origin = after.origin if after else ""
        text, notes = write_map(_known_format(platform), rows, site or origin) if platform else ("", [])
        place = place_on(*filter(None, (origin, ask and urljoin(ask, "/")[:-1])))
        found = [*check_map(rows, place, after), *(MapFinding("limit", "", note) for note in notes)]
        if undecided:
            sentence = f"{count_text(undecided, 'row')} of the grade look: no redirect until you set another grade"
            found.append(MapFinding(NOTE, "", sentence))
        if ask:
            found += _ask(rows, ask, flags)
        problems = sum(finding.rule != NOTE for finding in found)
        if convert is not None:
            _write_output(text, convert)
        if as_json:
            told = msgspec.json.encode({"rows": len(rows), "findings": found})
            sys.stdout.write(msgspec.json.format(told).decode() + "\n")
        else:
            sys.stdout.writelines(_lines(found))
            sys.stdout.write(f"{count_text(len(rows), 'row')}, {count_text(problems, 'problem')}\n")
        errors.exit_code = FindingsFound.exit_code if problems else 0


def _lines(found: Sequence[MapFinding]) -> Iterator[str]:
    """The findings of each rule, the first ones only: one cause may concern every row."""
    counts = Counter(finding.rule for finding in found)
    for rule, count in counts.items():
        for finding in islice((each for each in found if each.rule == rule), _MAX_SHOWN):
            yield f"{rule:10} {safe(finding.sentence)}\n"
        if count > _MAX_SHOWN:
            yield f"{rule:10} … {count - _MAX_SHOWN:,} more; --json shows all\n"


def _ask(rows: Sequence[Redirect], start: str, flags: dict[str, Any]) -> Iterator[MapFinding]:
    """The findings about what the site answers: for each row, for some in other spellings."""
    with Downloader(site_config(None, flags, start), origins_of([start]), MAX_BODY) as remote:
        probe = live_probe(remote, reads_pages=True)
        for number, row in enumerate(rows):
            source, target = urljoin(start, row.source), urljoin(start, row.target)
            yield from check_answers(row, target, trail(probe, source))
            for spelling in _spellings(source) if number < _SAMPLED else ():
                *hops, end = trail(probe, spelling)
                if end.status is None or end.url.partition("?")[0] == target.partition("?")[0]:
                    continue
                if end.status >= 400 and not hops:
                    sentence = f"{spelling} answers {end.status}. Redirect it too if somebody links to it"
                    yield MapFinding(NOTE, row.source, sentence)
                else:
                    yield MapFinding("spelling", row.source, f"{spelling} leads to {end.url}, not to {target}")
        unknown = trail(probe, urljoin(start, _UNKNOWN_PATH))
        if len(unknown) > 1:
            yield MapFinding("catch-all", "", f"an unknown URL redirects to {unknown[-1].url}. Let it answer 404")


def _spellings(url: str) -> Iterator[str]:
    """A URL with http, with or without www, with or without a slash at its end unless it is a file, with a query."""
    scheme, _, rest = url.partition("://")
    if scheme == "https":
        yield f"http://{rest}"
    if any(map(str.isalpha, rest.partition("/")[0].rpartition(".")[2])):  # not an IP address
        yield f"{scheme}://{rest.removeprefix('www.') if rest.startswith('www.') else f'www.{rest}'}"
    if "?" not in url:
        if "." not in url.rpartition("/")[2]:
            yield url[:-1] if url.endswith("/") else f"{url}/"
        yield f"{url}?utm_source=siteatlas"


def _open_side(word: str, flags: Mapping[str, Any], origin: str, known: Sequence[str] | None = None) -> Inventory:
    """One side of a move: a state directory, with ``@RUN`` as of a run; a folder of pages; a URL; a sitemap or list.

    ``known`` are the paths that the other side or the map names; without them it is the old side, with the pages that
    its state does not list any more. Raises UsageError, NothingCrawlable.
    """
    name, mark, run = word.rpartition("@")
    if mark and run.isdecimal() and (state := state_in(Path(name))):
        return read_state(state, int(run), former=True)
    path = Path(word)
    if path.is_dir():
        state = state_in(path)
        return read_state(state, former=known is None) if state else read_folder(path, origin, known or ())
    if is_url(word) and not word.lower().endswith((*_SITEMAPS, ".txt")):
        return _crawled(word, flags)
    if is_sitemap(word):
        return read_urls(sitemap_urls(word, flags))
    try:
        listed = path.read_bytes()
        if listed.startswith(b"SQLite format 3\0"):
            raise UsageError(f"{word} is a database, which has no texts of pages. Give the state directory of the site")
        return read_urls(named_urls(listed.decode(errors="replace")))
    except OSError as error:
        raise UsageError(f"{word} cannot be read: {error.strerror}. Give a state, a folder, a URL or a file") from None


def is_sitemap(word: str) -> bool:
    """Whether a word names a sitemap, or a URL where one is looked for."""
    return is_url(word) or word.lower().endswith(_SITEMAPS)


def sitemap_urls(word: str, flags: Mapping[str, Any]) -> list[str]:
    """The URLs of a sitemap, by file or URL. Raises UsageError, NothingCrawlable."""
    try:
        if not is_url(word):
            (document,) = open_documents([word], named_files([word], ""), "", None, _say)
            return [entry.loc for entry in iter_entries(document.source)]
        with Downloader(site_config(None, flags, word), origins_of([word]), _MAX_BYTES) as remote:
            documents = open_documents([word], {}, "", remote, _say)
            return [e.loc for d in documents for e in iter_entries(d.source, d.opener, d.url)]
    except SitemapError as error:
        raise NothingCrawlable(f"{word} cannot be read: {error}") from None


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _crawled(url: str, flags: Mapping[str, Any]) -> Inventory:
    """The pages of a site, crawled now. Its robots.txt, pace and limits hold as in siteatlas crawl."""
    with tempfile.TemporaryDirectory(prefix="siteatlas-") as directory:
        layers = {**flags, "output__directory": f"{directory}/out", "state__directory": f"{directory}/state"}
        config = site_config(None, layers, url)
        report = anyio.run(lambda: crawl_site(config))
        state = state_in(Path(directory) / "state")
        if state is None or not report.published:
            error = Incomplete if report.exit_code == Incomplete.exit_code else NothingCrawlable
            raise error(report.refusal or f"{url} has no pages: siteatlas crawl {url} shows why")
        return read_state(state)


def _found_at(origin: str, paths: Sequence[str], flags: Mapping[str, Any]) -> dict[str, Match]:
    """The matches of the paths of a live site that answer 200 or redirect to a page of it, at the pace of a crawl.

    Where a path that does not exist leads tells nothing.
    """
    urls = [origin + path for path in (_UNKNOWN_PATH, *paths)] if paths else []
    places = {
        place_of(end.url): place_of(end.target or end.url)
        for end in live_ends(urls, site_config(None, flags, origin))
        if end.ended in ("there", "redirected") and origin_of(Url(end.target or end.url)) == origin
    }
    nowhere = {places.get(_UNKNOWN_PATH, "/").partition("?")[0], "/"}
    return {
        path: Match(path, place, Grade.SURE, "the same path" if place == path else "the site redirects it there")
        for path, place in places.items()
        if not {_UNKNOWN_PATH, place.partition("?")[0]} & nowhere
    }


def map_rows(path: Path) -> list[Redirect]:
    """The rows of a map of redirects. Raises UsageError."""
    return read_map(_read(path), str(path))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _visits_of(word: str) -> Counter[str]:
    """Visits and clicks by path, of the sources of the last audit of a state."""
    counts: Counter[str] = Counter()
    place = Path(re.sub(r"@\d+$", "", word))
    if place.is_dir() and (state := state_in(place)):
        # what an audit read of logs belongs to the site
        with closing(open_dataset(state.parent if state.name == AUDIT else state)) as db:
            for number, table in ("people + bots", "visits"), ("clicks", "search"):
                rows = db.execute(f"SELECT url, sum({number}) FROM {table} GROUP BY 1")  # noqa: S608 - our own
                counts.update({place_of(url): count or 0 for url, count in rows})
    return counts


def _write_output(text: str, output: Path | None) -> None:
    """Write a text to a file, or to standard output. Raises UsageError."""
    if output is None:
        sys.stdout.write(text)
        return
    try:
        with replacement(output) as file:
            file.write(text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise UsageError(str(destination_error(f"{output} cannot be written", error))) from None


move.command("map", cls=HelpfulCommand, epilog=epilog_of("move"))(map_)
move.command("check", cls=HelpfulCommand, epilog=epilog_of("move"))(check)
