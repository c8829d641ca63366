"""``siteatlas move``: maps the pages of an old site to those of the new one, and checks maps of redirects."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urljoin

import msgspec
import typer

from crawler.cli.errors import CommandErrors
from crawler.cli.help import HelpfulCommand, command_group, epilog_of
from crawler.cli.move_sides import UNKNOWN_PATH, found_at, map_rows, open_side, visits_of, write_output
from crawler.cli.options import REQUEST_KEYS, site_config, with_flags
from crawler.crawl.documents import is_url
from crawler.crawl.sitemap_download import Downloader, origins_of
from crawler.errors import FindingsFound, UsageError
from crawler.moves.check import NOTE, MapFinding, check_answers, check_map
from crawler.moves.formats import FORMATS, Redirect, csv_table, write_map
from crawler.moves.inventory import place_of, place_on
from crawler.moves.matcher import REDIRECTED, Grade, match_pages
from crawler.moves.probe import MAX_BODY, live_probe
from crawler.moves.trail import trail
from crawler.units import count_text
from sitemap import safe

move = command_group("Map the pages of an old site to those of the new one, and check maps of redirects.")
Format = Annotated[str, typer.Option("--format", metavar="NAME", help=f"Format: {', '.join(FORMATS)}.")]
_SAMPLED: Final = 5  # rows that are also asked in other spellings


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

    The CSV map has every old page that is not at the same path, with a grade and the reason: sure, likely, look (a
    person decides) or none. Pages with visits or clicks are first. Other formats get the rows that are sure or likely.
    Check the map with siteatlas move check.
    """
    with CommandErrors(verbose):
        _known_format(form)
        before, after = open_side(old, flags, site, former=True), open_side(new, flags, site)
        given = [row for path in said or () for row in map_rows(path)]
        pairs = {place_of(row.source): place_of(row.target) for row in given}
        matches = [*match_pages(before.pages, after.pages, pairs)]
        if is_url(new) and after.origin:
            # a page that nothing links to may live on unseen
            found = found_at(after.origin, [match.old for match in matches if match.grade is Grade.NONE], flags)
            matches = [found.get(match.old, match) for match in matches]
        visits = visits_of(old)
        matches.sort(key=lambda match: (-visits[match.old], match.old))
        is_other = bool(before.origin and after.origin and before.origin != after.origin)
        moved = [match for match in matches if is_other or match.new != match.old]
        is_whole = is_other or FORMATS[form].whole or (form == "csv" and bool(site))
        sides = [(side.origin or site.rstrip("/")) if is_whole else "" for side in (before, after)]
        redirects = [Redirect(sides[0] + match.old, match.new and sides[1] + match.new) for match in moved]
        rows, notes = [*zip(redirects, moved, strict=True)], list[str]()
        if form == "csv":
            text = csv_table(
                "old,new,status,grade,reason,visits\n",
                (
                    (row.source, row.target, row.target and row.status, match.grade, match.reason, visits[match.old])
                    for row, match in rows
                ),
            )
        else:
            text, notes = write_map(form, [row for row, match in rows if match.grade in REDIRECTED])
        write_output(text, output)
        grades = Counter(match.grade for match in moved)
        counts = ", ".join(f"{grades[grade]:,} {grade}" for grade in Grade)
        stay = len(matches) - len(moved)
        sys.stderr.write(f"{count_text(len(matches), 'old page')}: {stay:,} at the same path, {counts}\n")
        sys.stderr.writelines(f"note: {note}\n" for note in notes)


@with_flags(*REQUEST_KEYS)
def check(  # noqa: PLR0913 - the options of a command
    file: Path,
    new: str | None = None,
    ask: str | None = None,
    platform: str | None = None,
    convert: Path | None = None,
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
        rows = map_rows(file)
        text, notes = write_map(_known_format(platform), rows) if platform else ("", [])
        after = open_side(new, flags) if new else None
        own = (after.origin if after else "", ask and urljoin(ask, "/")[:-1])
        place = place_on(*filter(None, own))
        found = [*check_map(rows, place, after), *(MapFinding("limit", "", note) for note in notes)]
        if ask:
            found += _ask(rows, ask, flags)
        problems = sum(finding.rule != NOTE for finding in found)
        if convert is not None:
            write_output(text, convert)
        if as_json:
            sys.stdout.write(msgspec.json.format(msgspec.json.encode({"rows": len(rows), "findings": found})).decode())
        else:
            sys.stdout.writelines(f"{finding.rule:10} {safe(finding.sentence)}\n" for finding in found)
            sys.stdout.write(f"{count_text(len(rows), 'row')}, {count_text(problems, 'problem')}\n")
        errors.exit_code = FindingsFound.exit_code if problems else 0


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
        unknown = trail(probe, urljoin(start, UNKNOWN_PATH))
        if len(unknown) > 1:
            yield MapFinding("catch-all", "", f"an unknown URL redirects to {unknown[-1].url}. Let it answer 404")


def _spellings(url: str) -> Iterator[str]:
    """A URL with http, with or without www, with or without a slash at its end, and with a query."""
    scheme, _, rest = url.partition("://")
    if scheme == "https":
        yield f"http://{rest}"
    if any(map(str.isalpha, rest.partition("/")[0].rpartition(".")[2])):  # not an IP address
        yield f"{scheme}://{rest.removeprefix('www.') if rest.startswith('www.') else f'www.{rest}'}"
    if "?" not in url:
        yield url[:-1] if url.endswith("/") else f"{url}/"
        yield f"{url}?utm_source=siteatlas"


move.command("map", cls=HelpfulCommand, epilog=epilog_of("move"))(map_)
move.command("check", cls=HelpfulCommand, epilog=epilog_of("move"))(check)
