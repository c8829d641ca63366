"""Reads the documents that the user named, with all their children, and checks them."""

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from crawler.audit.sources.cross_submit import MAX_HOSTS, CrossSubmitChecker, CrossSubmitLinter, reportable_findings
from crawler.config.config import Config
from crawler.crawl.documents import DocumentSource, is_url, named_files, open_documents
from crawler.errors import UsageError
from sitemap import Format, Linter, LintReport, SourceError, TreeLimits, walk

if TYPE_CHECKING:
    from crawler.crawl.sitemap_download import Downloader


MAX_MESSAGES: Final = 20  # redirects, or unread documents, that are listed
OnMessage = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LintTask:
    """What to read: the ``words`` that the user typed, the public URL of the files among them, and the settings.

    ``cross_submits``: whether to check the robots.txt of other hosts; None: only if a word is a URL.
    """

    words: Sequence[str]
    url: str
    limits: TreeLimits
    config: Config
    cross_submits: bool | None = None


def lint_sources(task: LintTask, rules: Collection[str], print_line: OnMessage) -> LintReport:
    """Check the documents by these rules. ``print_line`` gets lines that the report does not have.

    Raises UsageError for a source that cannot be read, NothingCrawlable for a URL that does not answer.
    """
    with _open_sources(task, print_line) as (documents, downloader):
        submits = CrossSubmitChecker(downloader.robots if downloader and task.cross_submits is not False else None)
        linter = CrossSubmitLinter(submits, datetime.now(UTC))
        for document in documents:
            _walk(document, linter, task)
        if submits.full:
            print_line(f"only the robots.txt of the first {MAX_HOSTS} other hosts were checked")
        unpacked, private = (downloader.unpacked, downloader.private) if downloader else (set(), set())
    report = linter.report()
    return replace(
        report,
        findings=reportable_findings(report.findings, rules, unpacked, private),
        not_checked=(*report.not_checked, *_no_folder(task, report)),
    )


def _no_folder(task: LintTask, report: LintReport) -> Iterator[str]:
    """A note when standard input is an index: its sitemaps cannot be found beside it."""
    if "-" in task.words and task.limits.max_depth:
        index = next((document for document in report.documents if document.format is Format.INDEX), None)
        if index and index.entries and not index.children and index.file == sys.stdin.buffer.name:
            yield (
                "the sitemaps of an index on standard input cannot be found: give the file or the URL of the "
                "index instead"
            )


@contextmanager
def _open_sources(
    task: LintTask, print_line: OnMessage
) -> Iterator[tuple[Iterator[DocumentSource], "Downloader | None"]]:
    """The documents, and the downloader if requests are needed."""
    if not task.words:
        raise UsageError(
            "no sitemap is given. Use siteatlas lint FILE, siteatlas lint URL, or siteatlas lint - for standard input"
        )
    files = named_files(task.words, task.url)
    if task.cross_submits and not task.url and not any(map(is_url, task.words)):
        raise UsageError("--cross-submits needs the URL of the file. Add --url URL")
    urls = [word for word in task.words if is_url(word)]
    if not urls and not (task.cross_submits and task.url):
        yield open_documents(task.words, files, task.url, None, print_line), None
        return
    from crawler.crawl.sitemap_download import Downloader, origins_of  # noqa: PLC0415 - files are checked without an HTTP client

    with Downloader(task.config, origins_of(urls or [task.url]), task.limits.read.max_bytes) as downloader:
        yield open_documents(task.words, files, task.url, downloader, print_line), downloader
        for url, target in downloader.redirects[:MAX_MESSAGES]:
            print_line(f"{url} redirects to {target}")
        if more := len(downloader.redirects[MAX_MESSAGES:]):
            print_line(f"and {more:,} more redirects")


def _walk(source: DocumentSource, linter: Linter, task: LintTask) -> None:
    try:
        walk(source.source, linter, opener=source.opener, url=source.url, limits=task.limits)
    except SourceError as error:
        raise UsageError(str(error)) from None
