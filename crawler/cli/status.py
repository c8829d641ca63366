"""``siteatlas status``: the sites, what is published of them, and their last runs. Only looks."""

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer
from msgspec import Struct

from crawler.cli.options import with_flags
from crawler.cli.told import Told
from crawler.cli.which import states
from crawler.cli.words import amount, clock, count, safe
from crawler.errors import SiteatlasError, worst
from crawler.memory.runs import Run
from crawler.memory.standing import Standing, standing
from crawler.state.schema import FILE

_HEAD: Final = (
    "run",
    "started",
    "took",
    "crawl",
    "outcome",
    "listed",
    "changes",
    "requests",
    "received",
    "exit",
)
_LEFT: Final = (1, 3, 4, 6)  # the columns that are texts


class Site(Struct, frozen=True):
    """A site that is asked about: its name, where its state is, and how it stands or why that cannot be told."""

    name: str
    directory: Path
    standing: Standing | None = None
    error: str = ""
    exit_code: int = 0


@with_flags("state.directory")
def status(
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="FILE", help="The TOML file of the sites.", envvar="SITEATLAS_CONFIG"
        ),
    ] = None,
    site: Annotated[
        list[str] | None,
        typer.Option(
            "--site", metavar="NAME", help="Only this site of the file; may be given more than once."
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option("--runs", metavar="N", min=1, help="How many of the last runs are shown.")
    ] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show where an error came from.")] = False,
    **flags: Any,
) -> None:
    """Show the sites, what is published of each, whether a run is going on, and the last runs.

    These are the sites of a configuration, or without one all that have a state in the state directory. Nothing is
    changed, and a run that is going on is not disturbed.
    """
    with Told(verbose) as told:
        sites = [_look(name, directory, runs) for name, directory, _ in states(config, flags, site or [])]
        told.exit_code = worst(each.exit_code for each in sites)
        if as_json:
            json.dump({"sites": [_as_json(each) for each in sites]}, sys.stdout, indent=2)
            sys.stdout.write("\n")
        else:
            sys.stdout.write("\n\n".join("\n".join(_lines(each)) for each in sites) + "\n")
        sys.stdout.flush()


def _look(name: str, directory: Path, runs: int) -> Site:
    if not (directory / FILE).is_file():
        return Site(name, directory)
    try:
        return Site(name, directory, standing(directory, runs))
    except SiteatlasError as error:  # the others can be told of all the same
        return Site(name, directory, error=str(error), exit_code=error.exit_code)


def _as_json(site: Site) -> dict[str, Any]:
    told: dict[str, Any] = {"name": site.name, "directory": str(site.directory)}
    if site.error:
        return {**told, "error": site.error}
    known_of = site.standing
    if known_of is None:
        return {**told, "runs": []}
    now = known_of.unfinished
    last = known_of.published
    return {
        **told,
        "url": known_of.url,
        "sitemap_url": known_of.sitemap_url,
        "running": known_of.holder or None,
        "unfinished": now.number if now else None,
        "published": {
            "pages": known_of.pages,
            "kept": known_of.kept,
            "run": last.number if last else None,
            "files": msgspec.to_builtins(last.files) if last else [],
        },
        "runs": [_run_as_json(run) for run in known_of.runs],
    }


def _run_as_json(run: Run) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(run)
    ended = run.ended
    return {**built, "started": _w3c(run.started), "ended": None if ended is None else _w3c(ended)}


def _w3c(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")


def _local(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def _lines(site: Site) -> Iterator[str]:
    yield f"== {site.name} =="
    if site.error:
        yield f"  {site.error}"
        return
    if site.standing is None:
        yield "  not crawled yet"
        return
    yield from _about(site.standing)
    rows = [_row(run) for run in site.standing.runs]
    if rows:
        yield ""
        yield from _table(rows, [list(_remarks(run)) for run in site.standing.runs])


def _about(of: Standing) -> Iterator[str]:
    yield f"  {safe(of.url)}"
    if of.published:
        kept = f", {of.kept:,} of them kept though they failed" if of.kept else ""
        yield (
            f"  {count(of.pages, 'page')} in {count(len(of.published.files), 'file')} published{kept}, "
            f"last by run {of.published.number}: {safe(of.published.files[0].url)}"
        )
    else:
        yield "  nothing is published by these runs"
    run = of.unfinished
    if of.holder:
        yield f"  run {run.number if run else ''} is going on, in process {of.holder}"
    elif run:
        why = f" ({safe(run.because)})" if run.because else ""
        yield f"  run {run.number} was cut short{why}; the next run goes on with it"


def _row(run: Run) -> tuple[str, ...]:
    return (
        str(run.number),
        _local(run.started),
        clock(run.seconds),
        run.completeness or "-",
        run.outcome or "-",
        f"{run.listed:,}",
        f"+{run.added:,} ~{run.changed:,} -{run.removed + run.moved + run.deindexed:,}",
        f"{run.fetched:,}",
        amount(run.bytes),
        "-" if run.exit_code is None else str(run.exit_code),
    )


def _remarks(run: Run) -> Iterator[str]:
    """What there is to say of a run beside its row."""
    if run.because:
        yield safe(run.because)
    if run.refusal and run.refusal not in run.because:
        yield safe(run.refusal)


def _table(rows: Sequence[Sequence[str]], remarks: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if number in _LEFT else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"  {'  '.join(padded)}".rstrip()

    yield line(_HEAD)
    for row, said in zip(rows, remarks, strict=True):
        yield line(row)
        yield from (f"  {'':>{widths[0]}}  {each}" for each in said)
