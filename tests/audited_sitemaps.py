"""Sitemaps of made sites, and what an audit finds in them."""

import itertools
import time
from datetime import datetime
from pathlib import Path

from scripted import Answer, Site

from crawler.audit.audit import ProgressWatchers, audit
from crawler.audit.finding import AuditFinding, AuditReport
from crawler.config.config import Config
from crawler.config.plan import CrawlPlan, plan_audit
from crawler.crawl.assembly import Clock

NS = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml" '
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
)


def url(loc: str, lastmod: str = "", inner: str = "") -> str:
    dated = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    return f"<url><loc>{loc}</loc>{dated}{inner}</url>\n"


def urlset(*urls: str) -> str:
    return f"<urlset {NS}>\n{''.join(each if each.startswith('<') else url(each) for each in urls)}</urlset>"


def index(*locs: str) -> str:
    listed = "".join(f"<sitemap><loc>{loc}</loc><lastmod>2026-01-31</lastmod></sitemap>\n" for loc in locs)
    return f"<sitemapindex {NS}>\n{listed}</sitemapindex>"


def xml(body: str | bytes, status: int = 200) -> Answer:
    return Answer(body, status, {"Content-Type": "application/xml"})


def plan_of(site: str, state: Path, /, **settings: dict[str, object]) -> CrawlPlan:
    pace = {"rate": 0}
    sections = {"site": {"url": site}, "state": {"directory": str(state)}, "pace": pace, "fetch": {"retries": 0}}
    return plan_audit(Config.model_validate(sections | settings))


class Audited:
    """The findings of a whole audit, by rule."""

    def __init__(self, report: AuditReport, findings: dict[str, list[AuditFinding]], site: str) -> None:
        self.report = report
        self.findings = findings
        self._site = site

    def urls(self, rule: str) -> list[str]:
        return sorted(each.url.removeprefix(self._site) for each in self.findings.get(rule, []))


def clock(day: str) -> Clock:
    """A clock that begins on a day and goes on by a millisecond each time it is looked at."""
    begins, ticks = datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp(), itertools.count()
    return lambda: begins + next(ticks) / 1000


def audited(site: Site, state: Path, clock: Clock = time.time, **settings: dict[str, object]) -> Audited:
    plan = plan_of(site.url, state, **settings)
    with audit(plan, ProgressWatchers(lambda _: None, lambda _: None), clock=clock) as (report, of):
        return Audited(report, {each.rule: list(of(each.rule)) for each in report.counts}, site.url)


def page(*links: str, head: str = "", lang: str = "", says: str = "") -> Answer:
    anchors = "".join(f'<a href="{link}">{link}</a>' for link in links)
    return Answer(
        f'<!doctype html><html lang="{lang}"><title>t</title>{head}<body><p>{says}</p>{anchors}</body></html>'
    )


def findings(plan: CrawlPlan) -> dict[str, list[AuditFinding]]:
    with audit(plan, ProgressWatchers(lambda _: None, lambda _: None)) as (report, of):
        return {each.rule: list(of(each.rule)) for each in report.counts}
