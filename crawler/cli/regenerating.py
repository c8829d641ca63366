"""Runs the sites of a configuration one after the other, whatever becomes of each of them."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from crawler import announcing, uploading
from crawler.cli.configured import Configured, configured
from crawler.cli.crawl import crawl_site
from crawler.cli.summary import show
from crawler.cli.told import Told
from crawler.cli.wishes import Wishes
from crawler.cli.words import count
from crawler.elsewhere import shown
from crawler.engine import Ending
from crawler.errors import Incomplete, UsageError
from crawler.plan import Plan, fetcher, plan
from crawler.report import Report
from crawler.sites import Place, keep_apart
from crawler.url import origin

_INTERRUPTED: Final = "interrupted"


class Result(Struct, frozen=True, kw_only=True):
    """What became of a site: its report, or the error that there is instead of one."""

    name: str
    exit_code: int
    report: Report | None = None
    error: str = ""

    @property
    def is_interrupted(self) -> bool:
        """Whether somebody wanted it to end: in the crawl, or while files were uploaded or others told."""
        return self.error == _INTERRUPTED or (
            self.report is not None and self.report.ending == Ending.INTERRUPTED.value
        )

    def as_json(self) -> dict[str, Any]:
        """The result in values that JSON knows."""
        told = self.report.as_json() if self.report else {"error": self.error}
        return {"name": self.name, **told, "exit_code": self.exit_code}


def planned(file: Path, flags: Mapping[str, Any], wanted: Sequence[str]) -> list[tuple[str, Plan]]:
    """The plans of the sites that are wanted. Those of the others are made too, so that what is wrong is told now.

    Raises UsageError.
    """
    every = [(each, *_ready(each, file)) for each in configured(file, flags, wanted)]
    keep_apart([place for _, _, place in every], str(file))
    return [(each.name, ready) for each, ready, _ in every if each.is_wanted]


def check(name: str, ready: Plan, file: Path, *, dry_run: bool = False) -> None:
    """Make sure, before the first request, that a site can be asked, uploaded, and others told. Raises UsageError."""
    try:
        fetcher(ready.config, [origin(ready.seed)], source=ready.source)
        if not dry_run:
            uploading.check(ready)
            announcing.check(ready)
    except UsageError as error:
        raise _of(name, file, error) from None


def _ready(site: Configured, file: Path) -> tuple[Plan, Place]:
    try:
        ready = plan(site.config)
        return ready, _place(site.name, ready)
    except UsageError as error:
        raise _of(site.name, file, error) from None


def _of(name: str, file: Path, error: UsageError) -> UsageError:
    return UsageError(f'the site "{name}" in {file}: {error}')


def _place(name: str, ready: Plan) -> Place:
    file, to = ready.sitemap_url.partition("?")[0].rpartition("/")[2], ready.config.upload
    there = f"{shown(to).rstrip('/')}/{file}" if to.to else ""
    return Place(name, (ready.output / file).resolve(), ready.state.resolve(), there)


def regenerate(sites: Sequence[tuple[str, Plan]], wishes: Wishes, told: Told) -> Iterator[Result]:
    """One result after the other. An interrupt ends the site that is under way, and no other is begun."""
    for number, (name, ready) in enumerate(sites):
        result = _one(name, ready, wishes, told)
        if result.report and not wishes.as_json:
            _show(result.report, name, wishes, told)
        yield result
        if result.is_interrupted:
            for other, _ in sites[number + 1 :]:
                told.say(f"{other}: not begun")
                yield Result(name=other, exit_code=Incomplete.exit_code, error="not begun: interrupted")
            return


def closing_line(results: Sequence[Result]) -> str:
    """What several sites came to, and the names of those that want a look."""
    outcomes = Counter(_outcome(each) for each in results)
    told = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
    bad = [f"{each.name} ({each.exit_code})" for each in results if each.exit_code]
    look = f"; look at {', '.join(bad)}" if bad else ""
    return f"{count(len(results), 'site')}: {told}{look}"


def _outcome(result: Result) -> str:
    if not result.report:
        return "failed"
    return "published" if result.report.published else "not published"


def _one(name: str, ready: Plan, wishes: Wishes, told: Told) -> Result:
    try:
        report = crawl_site(name, ready, told.console, wishes)
    except BrokenPipeError:
        raise
    except KeyboardInterrupt as error:
        return Result(name=name, exit_code=told.tell(error, name) or 1, error=_INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - whatever happens to one site, the others have their turn
        return Result(name=name, exit_code=told.tell(error, name) or 1, error=str(error))
    return Result(name=name, exit_code=report.exit_code, report=report)


def _show(report: Report, name: str, wishes: Wishes, told: Told) -> None:
    if not wishes.quiet:
        sys.stdout.write(f"== {name} ==\n")
    show(report, lambda sentence: told.say(f"{name}: {sentence}"), quiet=wishes.quiet)
    if not wishes.quiet:
        sys.stdout.write("\n")
