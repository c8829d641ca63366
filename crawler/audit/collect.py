"""Reads every source once, before a request is sent to a page, and keeps what each of them claims."""

import os
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from crawler.audit.claim import Account, Claim, Source
from crawler.audit.evidence.store import Claims
from crawler.audit.finding import AuditFinding
from crawler.audit.sitemaps import check_sitemaps, read_sitemaps
from crawler.audit.sources.exports.reader import ExportOptions, check_export, looks_like, read_export
from crawler.audit.sources.logs.files import named
from crawler.audit.sources.logs.log import LogOptions
from crawler.audit.sources.logs.reader import Progress, check_logs, is_log, read_logs
from crawler.audit.sources.paths import matching
from crawler.audit.sources.urls import Addresses
from crawler.config.config import Config
from crawler.config.plan import Plan
from crawler.crawl.download import Remote, homes
from crawler.errors import UsageError
from crawler.model import Found, Url
from sitemap import SourceError

STDIN: Final = "-"
_EXPORTS: Final = (
    (Source.SEARCH, "search"),
    (Source.ANALYTICS, "analytics"),
    (Source.BACKLINKS, "backlinks"),
    (Source.LIST, "lists"),
    (Source.CRAWL, "crawls"),
)


@dataclass(frozen=True, slots=True)
class Reading:
    """How far the reading is: what is read now, and bytes of bytes in all where they are known."""

    name: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the reading of sitemaps found besides claims: the findings of lint, and what could not be judged."""

    lint: list[AuditFinding]
    notes: list[str]


OnReading = Callable[[Reading], None]


def check(plan: Plan) -> None:
    """Whether everything that was named can be read, as far as a look tells. Raises UsageError."""
    config = plan.config
    try:
        check_sitemaps(config.audit.sitemaps)
    except OSError as error:
        raise UsageError(f"cannot read {error.filename}: {error.strerror} (--sitemap)") from None
    homes([name for name in config.audit.logs if "://" in name])
    for name in named(_local(config.audit.logs)):
        _check_log(name, _log_options(plan))
    for source, name in _exports(config):
        if name == STDIN or Path(name).is_fifo():  # they are looked at before they are read
            raise UsageError(
                "an audit does not read tables from the standard input or a pipe: name files or URLs"
            )
        try:
            check_export(name, source, _export_options(config))
        except UsageError:
            if Path(name).is_file() and is_log(name):
                raise UsageError(f"{name}: this looks like an access log: give it as --log") from None
            raise


def _check_log(name: str, options: LogOptions) -> None:
    try:
        check_logs([name], options)
    except UsageError:
        if name != STDIN and (said := looks_like(name)):
            raise UsageError(f"{name}: {said}") from None
        raise


def addresses(plan: Plan) -> Addresses:
    """Who makes URLs of what sources name: those that a crawl would ask for."""
    scope = plan.scope

    def is_ours(url: Url) -> bool:
        refused = scope.admit(url, 0, Found.LINK)
        return refused is None

    return Addresses(plan.seed, plan.params, is_ours)


def gather(plan: Plan, db: sqlite3.Connection, watch: OnReading, now: float) -> Gathered:
    """Read sitemaps, logs, exports and lists. Raises UsageError for what cannot be read after all, StorageError.

    ``now`` is Unix time.
    """
    config, claims, known = plan.config, Claims(db), addresses(plan)
    published = read_sitemaps(plan, db, known, now, lambda name: watch(Reading(name)))
    with closing(_logs(plan, watch)) as logs:  # whatever happens, no process goes on counting
        for account, found in logs:
            _keep(claims, account, found)
    options = _export_options(config)
    for source, name in _exports(config):
        watch(Reading(name))
        if "://" in name:
            with Remote(config, homes([plan.seed, name]), config.fetch.max_sitemap) as remote:
                _keep(claims, *read_export(name, source, known, options, remote.open))
        else:
            _keep(claims, *read_export(name, source, known, options, _never))
    return Gathered(published.findings, published.notes)


def _logs(plan: Plan, watch: OnReading) -> Generator[tuple[Account, Iterator[Claim]]]:
    def told(progress: Progress) -> None:
        watch(Reading(progress.name, progress.read, progress.size))

    config, known = plan.config, addresses(plan)
    yield from read_logs(_local(config.audit.logs), known, _log_options(plan), told)
    for url in dict.fromkeys(name for name in config.audit.logs if "://" in name):
        with TemporaryDirectory(prefix="siteatlas-") as folder:
            yield _fetched_log(url, Path(folder) / "log", plan, told)


def _local(names: Iterable[str]) -> list[str]:
    return [name for name in names if "://" not in name]


def _fetched_log(
    url: str, path: Path, plan: Plan, told: Callable[[Progress], None]
) -> tuple[Account, Iterator[Claim]]:
    """A log by its URL, no larger than a sitemap may be (``--max-sitemap``). ``path`` is where it is put meanwhile."""
    config = plan.config
    most = config.fetch.max_sitemap
    try:
        with Remote(config, homes([plan.seed, url]), most) as remote:
            content = remote.open(url)
    except SourceError as error:
        return Account(source=Source.LOG, name=url, complete=False, faults=[str(error)]), iter(())
    path.write_bytes(content)
    options = _log_options(plan)
    try:
        check_logs([str(path)], options)
    except UsageError as error:
        raise UsageError(str(error).replace(str(path), url)) from None
    reading = read_logs([str(path)], addresses(plan), options, told)
    account, found = next(reading)
    account.name = url

    def claims() -> Iterator[Claim]:
        yield from found
        next(reading, None)  # there is no other: it closes the file
        account.faults = [fault.replace(str(path), url) for fault in account.faults]
        if len(content) > most:
            account.faults.append(f"{url} is longer than --max-sitemap: fetch it yourself, and name the file")
            account.complete = False

    return account, claims()


def _keep(claims: Claims, account: Account, found: Iterator[Claim]) -> None:
    number = claims.begin(account)
    claims.put(number, found)
    claims.end(number, account)


def _exports(config: Config) -> Iterator[tuple[Source, str]]:
    for source, key in _EXPORTS:
        once: dict[str, str] = {}  # a file that is named twice says the same twice
        for given in getattr(config.audit, key):
            for name in (
                [given] if "://" in given or given == STDIN else sorted(matching(given, f"--{source}"))
            ):
                once.setdefault(name if "://" in name else os.path.realpath(name), name)
        yield from ((source, name) for name in once.values())


def _never(url: str) -> bytes:
    raise AssertionError(f"{url} is a file")


def _log_options(plan: Plan) -> LogOptions:
    audit = plan.config.audit
    return LogOptions(format=audit.log_format, verify=audit.verify_bots, processes=plan.processes)


def _export_options(config: Config) -> ExportOptions:
    return ExportOptions(column=config.audit.url_column)
