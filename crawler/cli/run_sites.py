"""Runs the sites of a configuration one after the other, whatever becomes of each of them."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from crawler.audit.report.threshold import rules_failing
from crawler.cli.errors import Told
from crawler.cli.progress import Display, Displays
from crawler.cli.sites import Configured, configured
from crawler.cli.summary import show, telling
from crawler.cli.tables import fitted
from crawler.config.fetcher import fetcher
from crawler.config.plan import Plan, plan
from crawler.config.sites import Place, keep_apart
from crawler.crawl.engine import Ending
from crawler.errors import Incomplete, UsageError
from crawler.notify.configure import check_channels
from crawler.publish.upload.target import shown
from crawler.publish.upload.upload import check_upload
from crawler.run.options import Wishes
from crawler.run.regenerate import crawl_site
from crawler.run.report import Report
from crawler.units import count
from crawler.url.normalize import origin
from sitemap import safe

if TYPE_CHECKING:  # an audit is loaded with what it needs when there is to be one
    from crawler.run.follow_up_audit import Followed

_INTERRUPTED: Final = "interrupted"


class Result(Struct, frozen=True, kw_only=True):
    """What became of a site: its report, or the error that there is instead of one; and its audit, if one followed."""

    name: str
    exit_code: int
    report: Report | None = None
    error: str = ""
    audit: "Followed | None" = None

    @property
    def is_interrupted(self) -> bool:
        """Whether somebody wanted it to end: in the crawl, or while files were uploaded or others told."""
        return self.error == _INTERRUPTED or (
            self.report is not None and self.report.ending == Ending.INTERRUPTED.value
        )

    def as_json(self) -> dict[str, Any]:
        """The result in values that JSON knows."""
        told = self.report.as_json() if self.report else {"error": self.error}
        audit = self.audit.as_json() if self.audit else None
        return {"name": self.name, **told, "audit": audit, "exit_code": self.exit_code}


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
            check_upload(ready)
            check_channels(ready)
            if ready.config.audit.every is not None:
                rules_failing(ready.config.audit.fail_on)
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
                told.say(f"{other}: not started")
                yield Result(name=other, exit_code=Incomplete.exit_code, error="not started: interrupted")
            return


def audited(
    sites: Sequence[tuple[str, Plan]], results: Sequence[Result], wishes: Wishes, told: Told
) -> Iterator[Result]:
    """The same results, with the audits of the sites whose audit is due. No exit code changes by what they find.

    They come when all sites are regenerated, so that no news wait for them. An interrupt ends the one that is under
    way, and no other is begun.
    """
    is_over = wishes.dry_run or any(result.is_interrupted for result in results)
    for (name, ready), result in zip(sites, results, strict=True):
        followed = None if is_over else _audit(name, ready, result, wishes, told)
        is_over = is_over or (followed is not None and followed.is_interrupted)
        yield replace(result, audit=followed)


def _audit(name: str, ready: Plan, result: Result, wishes: Wishes, told: Told) -> "Followed | None":
    if result.report is None or ready.config.audit.every is None:
        return None
    from crawler.run.follow_up_audit import follow, is_due  # noqa: PLC0415 - with numpy, which a run does not need

    if not is_due(ready, result.report):
        return None
    with Displays(told.console, enabled=not wishes.quiet) as watches:
        followed = follow(name, ready, watches)
    if followed is not None and not wishes.as_json:
        _show_audit(name, followed, wishes, told)
    return followed


def _show_audit(name: str, followed: "Followed", wishes: Wishes, told: Told) -> None:
    announced = followed.announced
    if followed.news is None:
        told.say(f"{name}: {followed.error}")
    elif not wishes.quiet:
        report = f"; the report is in {followed.report}" if followed.report else ""
        lines = [
            f"== {name} ==",
            safe(f"{followed.sentence}{report}"),
            *(telling(announced) if announced else ()),
        ]
        sys.stdout.write(fitted((*lines, "")))
    elif announced and announced.untold:
        for each in announced.sentences:
            told.say(f"{name}: {each}")


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
        with Display(told.console, enabled=not wishes.quiet) as display:
            report = crawl_site(name, ready, wishes, display.watch)
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
