"""Runs the sites of a configuration one after the other, and then their audits; a failure does not stop the others."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from crawler.audit.report.layout import fitted
from crawler.cli.errors import CommandErrors, faults_of
from crawler.cli.progress import AuditProgressDisplays, CrawlProgressDisplay
from crawler.cli.sites import configured_sites
from crawler.cli.summary import print_summary
from crawler.config.load import ConfiguredSite, SitePaths, check_distinct_paths
from crawler.config.plan import CrawlPlan, plan_crawl
from crawler.crawl.engine import FinishReason
from crawler.errors import NEXT_RUN, Incomplete
from crawler.publish.upload.target import target_name
from crawler.run.options import RunOptions
from crawler.run.regenerate import check_services, crawl_and_report
from crawler.run.report import Report, run_result
from crawler.units import count_text
from sitemap import safe

if TYPE_CHECKING:  # an audit loads much: only when one is due
    from crawler.run.audit import FollowUpAudit

_INTERRUPTED: Final = "interrupted"


class SiteResult(Struct, frozen=True, kw_only=True):
    """The result of a site: its report or else its error, and its audit if one followed."""

    name: str
    exit_code: int
    report: Report | None = None
    error: str = ""
    audit: "FollowUpAudit | None" = None

    @property
    def is_interrupted(self) -> bool:
        """Whether the user interrupted it: in the crawl, the upload or the notifications."""
        return self.error == _INTERRUPTED or (
            self.report is not None and self.report.ending == FinishReason.INTERRUPTED.value
        )

    def as_json(self) -> dict[str, Any]:
        """The result as JSON values."""
        report = self.report.as_json() if self.report else {"error": self.error}
        audit = self.audit.as_json() if self.audit else None
        return {"name": self.name, **report, "audit": audit, "exit_code": self.exit_code}


def site_plans(file: Path, flags: Mapping[str, Any], names: Sequence[str]) -> list[tuple[str, CrawlPlan]]:
    """The plans of the selected sites. Raises UsageError, also for a mistake in the configuration of another site."""
    every = [(site, *_plan_of(site, file)) for site in configured_sites(file, flags, names)]
    check_distinct_paths([place for _, _, place in every], str(file))
    return [(site.name, plan) for site, plan, _ in every if site.is_wanted]


def check_site(name: str, plan: CrawlPlan, file: Path) -> None:
    """Check the settings for requests, upload and notifications before the first request. Raises UsageError."""
    with faults_of(f'the site "{name}" in {file}'):
        check_services(plan)


def _plan_of(site: ConfiguredSite, file: Path) -> tuple[CrawlPlan, SitePaths]:
    with faults_of(f'the site "{site.name}" in {file}'):
        plan = plan_crawl(site.config)
        return plan, _site_paths(site.name, plan)


def _site_paths(name: str, plan: CrawlPlan) -> SitePaths:
    file, upload = plan.sitemap_url.partition("?")[0].rpartition("/")[2], plan.config.upload
    remote = f"{target_name(upload).rstrip('/')}/{file}" if upload.to else ""
    return SitePaths(name, (plan.output / file).resolve(), plan.state.resolve(), remote)


def run_sites(
    sites: Sequence[tuple[str, CrawlPlan]], file: Path, options: RunOptions, errors: CommandErrors
) -> Iterator[SiteResult]:
    """Run the sites of a file one after the other. An interrupt ends the current site, and starts no other."""
    for number, (name, plan) in enumerate(sites):
        NEXT_RUN.command = NEXT_RUN.of(file, "--site", name)
        errors.site = name
        result = _run_site(name, plan, options, errors)
        if result.report and not options.as_json:
            _print_report(result.report, name, options, errors)
        yield result
        if result.is_interrupted:
            for other, _ in sites[number + 1 :]:
                errors.site = other
                errors.print_line("not started")
                yield SiteResult(name=other, exit_code=Incomplete.exit_code, error="not started: interrupted")
            break
    errors.site = ""


def with_audits(
    sites: Sequence[tuple[str, CrawlPlan]],
    results: Sequence[SiteResult],
    file: Path,
    options: RunOptions,
    errors: CommandErrors,
) -> Iterator[SiteResult]:
    """Add the audits that are due to the results; exit codes stay.

    Audits start after all sites are regenerated, so that no notification waits for them. An interrupt ends the current
    audit, and starts no other.
    """
    is_over = options.dry_run or any(result.is_interrupted for result in results)
    for (name, plan), result in zip(sites, results, strict=True):
        NEXT_RUN.command = NEXT_RUN.of(file, "--site", name)
        errors.site = name
        followed = None if is_over else _audit_site(name, plan, result, options, errors)
        is_over = is_over or (followed is not None and followed.is_interrupted)
        yield replace(result, audit=followed)
    NEXT_RUN.command = errors.site = ""


def _audit_site(
    name: str, plan: CrawlPlan, result: SiteResult, options: RunOptions, errors: CommandErrors
) -> "FollowUpAudit | None":
    if result.report is None or plan.config.audit.every is None:
        return None
    from crawler.run.audit import audit_after_run, should_audit  # noqa: PLC0415 - a run without an audit needs none of it

    plan = plan_crawl(plan.config)  # the run may have found that the start URL has moved
    if not should_audit(plan, result.report):
        return None
    with AuditProgressDisplays(errors.terminal, name, enabled=not options.quiet) as watches:
        followed = audit_after_run(name, plan, watches)
    if followed is not None and not options.as_json:
        _print_audit(name, followed, options, errors)
    return followed


def _print_audit(name: str, followed: "FollowUpAudit", options: RunOptions, errors: CommandErrors) -> None:
    announced = followed.announced
    if followed.news is None:
        errors.print_line(followed.error)
    elif not options.quiet:
        report = f"; the report is in {followed.report}" if followed.report else ""
        notified = [f"  {safe(line)}" for line in announced.lines()] if announced else []
        lines = [f"== {name} ==", safe(f"{followed.sentence}{report}"), *notified]
        sys.stdout.write(fitted((*lines, "")))
    elif announced:
        for sentence in announced.news:
            errors.print_line(sentence)


def summary_line(results: Sequence[SiteResult]) -> str:
    """The number of sites by outcome, and the names of those that failed."""
    outcomes = Counter(_outcome_text(result) for result in results)
    counts = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
    bad = [f"{result.name} (exit code {result.exit_code})" for result in results if result.exit_code]
    hint = f"; look at {', '.join(bad)}" if bad else ""
    return f"{count_text(len(results), 'site')}: {counts}{hint}"


def _outcome_text(result: SiteResult) -> str:
    if not result.report:
        return "failed"
    if not result.report.published:
        return "only tried" if result.report.outcome == "dry" else "not published"
    return run_result(result.report).outcome


def _run_site(name: str, plan: CrawlPlan, options: RunOptions, errors: CommandErrors) -> SiteResult:
    try:
        with CrawlProgressDisplay(errors.terminal, name, enabled=not options.quiet) as display:
            report = crawl_and_report(name, plan, options, display.watch)
    except BrokenPipeError:
        raise
    except KeyboardInterrupt as error:
        return SiteResult(name=name, exit_code=errors.report(error) or 1, error=_INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - a failure of one site must not stop the others
        return SiteResult(name=name, exit_code=errors.report(error) or 1, error=str(error))
    return SiteResult(name=name, exit_code=report.exit_code, report=report)


def _print_report(report: Report, name: str, options: RunOptions, errors: CommandErrors) -> None:
    if not options.quiet:
        sys.stdout.write(f"== {name} ==\n")
    print_summary(report, errors.print_line, quiet=options.quiet)
    if not options.quiet:
        sys.stdout.write("\n")
