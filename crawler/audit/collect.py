"""Reads every source of an audit once, before the crawl requests a page, and stores their records."""

import os
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
from msgspec import structs

from crawler.audit.evidence.store import ClaimStore
from crawler.audit.sitemaps import SitemapReadings, check_sitemaps, read_sitemaps
from crawler.audit.source_record import SourceKind, SourceProgress, SourceRecord, SourceReport
from crawler.audit.sources.exports.reader import check_export, export_hint, read_export, refuse_url
from crawler.audit.sources.google.reader import check_reports, google_reports, read_report
from crawler.audit.sources.logs.addresses import read_addresses
from crawler.audit.sources.logs.bots import BotLedger
from crawler.audit.sources.logs.claims import AddressCounts
from crawler.audit.sources.logs.files import LogRefused, find_logs, is_stream
from crawler.audit.sources.logs.log import LogOptions
from crawler.audit.sources.logs.reader import check_logs, is_log, read_logs
from crawler.audit.sources.urls import SourceUrlParser, count_row, find_files
from crawler.config.config import Config
from crawler.config.plan import CrawlPlan
from crawler.crawl.sitemap_download import Downloader, origins_of
from crawler.errors import UsageError
from crawler.model import DiscoveredBy, State, Url
from crawler.moves.register import left_rows
from crawler.plugins import Plugin, PluginError, PluginKind, load_plugins
from crawler.url.secrets import mask_private
from sitemap import SourceError, check_path

STDIN: Final = "-"
_EXPORTS: Final = (
    (SourceKind.SEARCH, "search"),
    (SourceKind.ANALYTICS, "analytics"),
    (SourceKind.BACKLINKS, "backlinks"),
    (SourceKind.LIST, "lists"),
    (SourceKind.CRAWL, "crawls"),
)


OnSourceProgress = Callable[[SourceProgress], None]


def check_sources(plan: CrawlPlan) -> None:
    """Check that all named sources look readable. Raises UsageError."""
    config = plan.config
    try:
        check_sitemaps(config.audit.sitemaps)
        origins_of([name for name in config.audit.logs if "://" in name])
        _check_logs(_local_files(config.audit.logs), _log_options(plan))
    except OSError as error:
        raise UsageError(f"cannot read {error.filename}: {error.strerror}") from None
    check_reports(config)
    for plugin in load_plugins(config, PluginKind.SOURCE):
        _kind_of(plugin)
    for source, name in _exports(config):
        if name == STDIN or Path(name).is_fifo():  # check_export would consume them
            raise UsageError("an audit does not read tables from standard input or a pipe. Give a file or a URL")
        try:
            check_export(name, source, config.audit.url_column)
        except UsageError:
            if Path(name).is_file() and is_log(name):
                raise UsageError(f"{name} looks like an access log. Give the file with --log") from None
            raise


def _check_logs(paths: Sequence[str], options: LogOptions) -> None:
    for name in find_logs(paths):
        if not is_stream(name):
            check_path(Path(name))
    try:
        check_logs(paths, options)
    except LogRefused as error:
        if hint := export_hint(error.name):
            raise UsageError(f"{error.name} {hint}") from None
        raise


def source_url_parser(plan: CrawlPlan) -> SourceUrlParser:
    """The parser of URLs in sources; it accepts the URLs that a crawl would request."""
    scope = plan.scope

    def is_ours(url: Url) -> bool:
        refused = scope.admit(url, 0, DiscoveredBy.LINK)
        return refused is None or refused.state is State.ACTION  # the audit counts it, and does not request it

    return SourceUrlParser(plan.seed, plan.params, is_ours, scope.directory)


def collect_sources(plan: CrawlPlan, db: sqlite3.Connection, watch: OnSourceProgress, now: float) -> SitemapReadings:
    """Read sitemaps, logs, exports, lists and reports of Google's APIs.

    ``now`` is Unix time. Raises UsageError for an unreadable source, StorageError.
    """
    config, claims, known = plan.config, ClaimStore(db), source_url_parser(plan)
    published = read_sitemaps(plan, db, known, now, lambda name: watch(SourceProgress(name)))
    successes, ledger = AddressCounts(), BotLedger()
    with closing(_read_logs(plan, watch, successes, ledger)) as logs:
        for report, records in logs:
            _store_claims(claims, report, records)
    claims.put_successes(successes.get)
    claims.put_ledger(ledger)
    column = config.audit.url_column

    def store(report: SourceReport, records: Iterator[SourceRecord]) -> None:
        if not config.audit.keep_tokens:
            records = (structs.replace(record, url=Url(mask_private(record.url))) for record in records)
        _store_claims(claims, report, records)

    for source, name in _exports(config):
        watch(SourceProgress(name))
        if "://" in name:
            with Downloader(config, origins_of([plan.seed, name]), config.fetch.max_sitemap) as remote:
                store(*read_export(name, source, known, column, remote.open))
        else:
            store(*read_export(name, source, known, column, refuse_url))
    for source, key in ((SourceKind.LOG, "logs"), *_EXPORTS):
        _refuse_useless(claims, f"--{source}", getattr(config.audit, key))
    for google in google_reports(config):
        watch(SourceProgress(google.title))
        store(*read_report(google, config, plan.state, known, now))
    for plugin in load_plugins(config, PluginKind.SOURCE):
        watch(SourceProgress(plugin.name))
        store(*_read_plugin(plugin, known))
    if left := [url for url, accepted in left_rows(plan.state.parent, "url, accepted") if not accepted]:
        report = SourceReport(source=SourceKind.REGISTER, name="URLs that the site published once", rows=len(left))
        urls = (count_row(report, known.parse(url)) for url in left)
        store(report, (SourceRecord(url=url, is_page=True) for url in urls if url))
    return published


def _read_plugin(plugin: Plugin, known: SourceUrlParser) -> tuple[SourceReport, Iterator[SourceRecord]]:
    """The report and the records of a plug-in. What it names before an exception counts."""
    report = SourceReport(source=_kind_of(plugin), name=f"plug-in {plugin.name}", format="plug-in")

    def records() -> Iterator[SourceRecord]:
        try:
            with plugin.guarded() as source:
                for given in source.read():
                    report.rows += 1
                    row = msgspec.convert(structs.asdict(given), SourceRecord)
                    if url := count_row(report, known.parse(row.url)):
                        yield structs.replace(row, url=url)
        except PluginError as error:
            report.complete = False
            report.faults.append(str(error))

    return report, records()


def _kind_of(plugin: Plugin) -> SourceKind:
    kinds = [kind.value for kind, _ in _EXPORTS]
    if (kind := getattr(plugin.made, "kind", SourceKind.LIST)) in kinds:
        return SourceKind(kind)
    raise UsageError(f"the plug-in {plugin.name} says that it is a source of the kind {kind!r}, not {', '.join(kinds)}")


def _read_logs(
    plan: CrawlPlan, watch: OnSourceProgress, successes: AddressCounts, ledger: BotLedger
) -> Generator[tuple[SourceReport, Iterator[SourceRecord]]]:
    config, known = plan.config, source_url_parser(plan)
    yield from read_logs(_local_files(config.audit.logs), known, _log_options(plan), watch, successes, ledger)
    for url in dict.fromkeys(name for name in config.audit.logs if "://" in name):
        with TemporaryDirectory(prefix="siteatlas-") as folder:
            yield _fetch_log(url, Path(folder) / "log", plan, watch, successes, ledger)


def _local_files(names: Iterable[str]) -> list[str]:
    return [name for name in names if "://" not in name]


def _fetch_log(
    url: str, path: Path, plan: CrawlPlan, watch: OnSourceProgress, successes: AddressCounts, ledger: BotLedger
) -> tuple[SourceReport, Iterator[SourceRecord]]:
    """Download a log to ``path`` and read it. It may be no larger than a sitemap (``fetch.max_sitemap``)."""
    config = plan.config
    max_bytes = config.fetch.max_sitemap
    try:
        with Downloader(config, origins_of([plan.seed, url]), max_bytes) as remote:
            content = remote.open(url)
    except SourceError as error:
        return SourceReport(source=SourceKind.LOG, name=url, complete=False, faults=[str(error)]), iter(())
    path.write_bytes(content)
    options = _log_options(plan)
    try:
        check_logs([str(path)], options)
    except UsageError as error:
        raise UsageError(str(error).replace(str(path), url)) from None
    reading = read_logs([str(path)], source_url_parser(plan), options, watch, successes, ledger)
    report, records = next(reading)
    report.name = url

    def claims() -> Iterator[SourceRecord]:
        yield from records
        next(reading, None)  # closes the file
        report.faults = [fault.replace(str(path), url) for fault in report.faults]
        if len(content) > max_bytes:
            report.faults.append(f"{url} is larger than fetch.max_sitemap: download it yourself and give the file")
            report.complete = False

    return report, claims()


def _store_claims(claims: ClaimStore, report: SourceReport, records: Iterator[SourceRecord]) -> None:
    number = claims.begin(report)
    claims.put(number, records)
    claims.end(number, report)


def _refuse_useless(claims: ClaimStore, flag: str, names: Iterable[str]) -> None:
    """Refuse a source that was read, if nothing in it can be used: a glob or a folder is one source.

    Raises UsageError. A URL that could not be fetched may answer tomorrow.
    """
    reports = {report.name: report for report in claims.reports()}
    for name in names:
        files = ["standard input"] if name == STDIN else [] if "://" in name else find_logs([name])
        parts = [report for file in [*files, name] if (report := reports.get(file))]
        faults = [fault for report in parts if report.rows for fault in report.faults]
        if faults and not any(report.used for report in parts):
            raise UsageError(f"nothing in {flag} {name} can be used: {faults[0]}")


def _exports(config: Config) -> Iterator[tuple[SourceKind, str]]:
    for source, key in _EXPORTS:
        names: dict[str, str] = {}  # a file that is named twice counts once
        for pattern in getattr(config.audit, key):
            for name in (
                [pattern] if "://" in pattern or pattern == STDIN else sorted(find_files(pattern, f"--{source}"))
            ):
                names.setdefault(name if "://" in name else os.path.realpath(name), name)
        yield from ((source, name) for name in names.values())


def _log_options(plan: CrawlPlan) -> LogOptions:
    audit = plan.config.audit
    return LogOptions(
        format=audit.log_format,
        verify=audit.verify_bots,
        addresses=read_addresses(audit.bot_addresses),
        keep_tokens=audit.keep_tokens,
    )
