"""Runs the sites of a configuration one after the other, whatever becomes of each of them."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from crawler.audit.report.threshold import rules_failing
from crawler.cli.errors import CommandErrors
from crawler.cli.progress import AuditProgressDisplays, CrawlProgressDisplay
from crawler.cli.sites import ConfiguredSite, configured_sites
from crawler.cli.summary import notify_text, print_summary
from crawler.cli.tables import fitted
from crawler.config.fetcher import build_fetcher
from crawler.config.plan import CrawlPlan, plan_crawl
from crawler.config.sites import SitePaths, check_distinct_paths
from crawler.crawl.engine import RunEnd
from crawler.errors import Incomplete, UsageError
from crawler.notify.configure import check_channels
from crawler.publish.upload.target import target_name
from crawler.publish.upload.upload import check_upload
from crawler.run.options import RunOptions
from crawler.run.regenerate import crawl_and_report
from crawler.run.report import Report
from crawler.units import count_text
from crawler.url.normalize import origin_of
from sitemap import safe

if TYPE_CHECKING:  # an audit is loaded with what it needs when there is to be one
    from crawler.run.audit import FollowUpAudit

_INTERRUPTED: Final = "interrupted"


class SiteResult(Struct, frozen=True, kw_only=True):
    """What became of a site: its report, or the error that there is instead of one; and its audit, if one followed."""

    name: str
    exit_code: int
    report: Report | None = None
    error: str = ""
    audit: "FollowUpAudit | None" = None

    @property
    def is_interrupted(self) -> bool:
        """Whether somebody wanted it to end: in the crawl, or while files were uploaded or others told."""
        return self.error == _INTERRUPTED or (
            self.report is not None and self.report.ending == RunEnd.INTERRUPTED.value
        )

    def as_json(self) -> dict[str, Any]:
        """The result in values that JSON knows."""
        told = self.report.as_json() if self.report else {"error": self.error}
        audit = self.audit.as_json() if self.audit else None
        return {"name": self.name, **told, "audit": audit, "exit_code": self.exit_code}


def site_plans(file: Path, flags: Mapping[str, Any], wanted: Sequence[str]) -> list[tuple[str, CrawlPlan]]:
    """The plans of the sites that are wanted. Those of the others are made too, so that what is wrong is told now.

    Raises UsageError.
    """
    every = [(each, *_plan_of(each, file)) for each in configured_sites(file, flags, wanted)]
    check_distinct_paths([place for _, _, place in every], str(file))
    return [(each.name, ready) for each, ready, _ in every if each.is_wanted]


def check_site(name: str, ready: CrawlPlan, file: Path, *, dry_run: bool = False) -> None:
    """Make sure, before the first request, that a site can be asked, uploaded, and others told. Raises UsageError."""
    try:
        build_fetcher(ready.config, [origin_of(ready.seed)], source=ready.source)
        if not dry_run:
            check_upload(ready)
            check_channels(ready)
            if ready.config.audit.every is not None:
                rules_failing(ready.config.audit.fail_on)
    except UsageError as error:
        raise _with_site_name(name, file, error) from None


def _plan_of(site: ConfiguredSite, file: Path) -> tuple[CrawlPlan, SitePaths]:
    try:
        ready = plan_crawl(site.config)
        return ready, _site_paths(site.name, ready)
    except UsageError as error:
        raise _with_site_name(site.name, file, error) from None


def _with_site_name(name: str, file: Path, error: UsageError) -> UsageError:
    return UsageError(f'the site "{name}" in {file}: {error}')


def _site_paths(name: str, ready: CrawlPlan) -> SitePaths:
    file, to = ready.sitemap_url.partition("?")[0].rpartition("/")[2], ready.config.upload
    there = f"{target_name(to).rstrip('/')}/{file}" if to.to else ""
    return SitePaths(name, (ready.output / file).resolve(), ready.state.resolve(), there)


def run_sites(
    sites: Sequence[tuple[str, CrawlPlan]], wishes: RunOptions, told: CommandErrors
) -> Iterator[SiteResult]:
    """One result after the other. An interrupt ends the site that is under way, and no other is begun."""
    for number, (name, ready) in enumerate(sites):
        result = _run_site(name, ready, wishes, told)
        if result.report and not wishes.as_json:
            _print_report(result.report, name, wishes, told)
        yield result
        if result.is_interrupted:
            for other, _ in sites[number + 1 :]:
                told.print_line(f"{other}: not started")
                yield SiteResult(name=other, exit_code=Incomplete.exit_code, error="not started: interrupted")
            return


def with_audits(
    sites: Sequence[tuple[str, CrawlPlan]],
    results: Sequence[SiteResult],
    wishes: RunOptions,
    told: CommandErrors,
) -> Iterator[SiteResult]:
    """The same results, with the audits of the sites whose audit is due. No exit code changes by what they find.

    They come when all sites are regenerated, so that no news wait for them. An interrupt ends the one that is under
    way, and no other is begun.
    """
    is_over = wishes.dry_run or any(result.is_interrupted for result in results)
    for (name, ready), result in zip(sites, results, strict=True):
        followed = None if is_over else _audit_site(name, ready, result, wishes, told)
        is_over = is_over or (followed is not None and followed.is_interrupted)
        yield replace(result, audit=followed)


def _audit_site(
    name: str, ready: CrawlPlan, result: SiteResult, wishes: RunOptions, told: CommandErrors
) -> "FollowUpAudit | None":
    if result.report is None or ready.config.audit.every is None:
        return None
    from crawler.run.audit import audit_after_run, should_audit  # noqa: PLC0415 - with numpy, which a run does not need

    if not should_audit(ready, result.report):
        return None
    with AuditProgressDisplays(told.console, enabled=not wishes.quiet) as watches:
        followed = audit_after_run(name, ready, watches)
    if followed is not None and not wishes.as_json:
        _print_audit(name, followed, wishes, told)
    return followed


def _print_audit(name: str, followed: "FollowUpAudit", wishes: RunOptions, told: CommandErrors) -> None:
    announced = followed.announced
    if followed.news is None:
        told.print_line(f"{name}: {followed.error}")
    elif not wishes.quiet:
        report = f"; the report is in {followed.report}" if followed.report else ""
        lines = [
            f"== {name} ==",
            safe(f"{followed.sentence}{report}"),
            *(notify_text(announced) if announced else ()),
        ]
        sys.stdout.write(fitted((*lines, "")))
    elif announced and announced.untold:
        for each in announced.sentences:
            told.print_line(f"{name}: {each}")


def summary_line(results: Sequence[SiteResult]) -> str:
    """What several sites came to, and the names of those that want a look."""
    outcomes = Counter(_outcome_text(each) for each in results)
    told = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
    bad = [f"{each.name} ({each.exit_code})" for each in results if each.exit_code]
    look = f"; look at {', '.join(bad)}" if bad else ""
    return f"{count_text(len(results), 'site')}: {told}{look}"


def _outcome_text(result: SiteResult) -> str:
    if not result.report:
        return "failed"
    return "published" if result.report.published else "not published"


def _run_site(name: str, ready: CrawlPlan, wishes: RunOptions, told: CommandErrors) -> SiteResult:
    try:
        with CrawlProgressDisplay(told.console, enabled=not wishes.quiet) as display:
            report = crawl_and_report(name, ready, wishes, display.watch)
    except BrokenPipeError:
        raise
    except KeyboardInterrupt as error:
        return SiteResult(name=name, exit_code=told.report(error, name) or 1, error=_INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - whatever happens to one site, the others have their turn
        return SiteResult(name=name, exit_code=told.report(error, name) or 1, error=str(error))
    return SiteResult(name=name, exit_code=report.exit_code, report=report)


def _print_report(report: Report, name: str, wishes: RunOptions, told: CommandErrors) -> None:
    if not wishes.quiet:
        sys.stdout.write(f"== {name} ==\n")
    print_summary(report, lambda sentence: told.print_line(f"{name}: {sentence}"), quiet=wishes.quiet)
    if not wishes.quiet:
        sys.stdout.write("\n")
