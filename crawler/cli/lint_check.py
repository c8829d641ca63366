"""Reads the documents that the user named, with all their children, and checks or lists them."""

import json
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from crawler.audit.report.layout import Line, fitted
from crawler.audit.sources.cross_submit import MAX_HOSTS, CrossSubmitChecker, CrossSubmitLinter, reportable_findings
from crawler.config.config import Config
from crawler.crawl.documents import DocumentSource, is_url, named_files, open_documents
from crawler.errors import FindingsFound, UsageError
from crawler.units import count_text, size_text
from sitemap import (
    Child,
    Document,
    Entry,
    Finding,
    Format,
    Linter,
    LintReport,
    SourceError,
    TreeLimits,
    as_json,
    safe,
    walk,
)

if TYPE_CHECKING:
    from crawler.crawl.sitemap_download import Downloader


_UNREAD_RULES: Final = frozenset({"index.child_unreadable", "index.too_deep", "index.too_many"})

# Rules about a document that was not read to its end. Some also apply to documents that were.
_TRUNCATED_RULES: Final = frozenset(
    f"sitemap.{name}"
    for name in (
        *("truncated", "not_xml", "not_well_formed", "dtd", "gzip"),
        *("too_large", "too_many", "too_deep", "token_too_long"),
    )
)

OnLine = Callable[[str], object]
_OF_FEEDS: Final = ("title", "summary")  # fields of an entry that only feeds have


class SitemapLister:
    """Lists documents while they are read (the visitor of :func:`sitemap.walk`).

    ``listing`` is "tree", "urls" or "counts". In JSON the URLs are objects, one a line: ``loc``, ``lastmod``,
    ``changefreq``, ``priority`` (null if missing), ``images``, ``videos``, ``alternates``, ``news`` (with the fields of
    :class:`sitemap.Entry`), and ``file``; the tree has the ``files`` of :func:`sitemap.as_json`; the counts are
    ``files``, each with ``file`` and ``entries``, and ``urls``, their sum. Only the tree lists a document twice.
    """

    def __init__(self, listing: str, write: OnLine, *, as_json: bool = False) -> None:
        self.documents: list[Document] = []
        self._again: set[Document] = set()
        self._files: set[str] = set()
        self._as_json = as_json
        self._listing = listing
        self._write = write

    def begin(self, document: Document) -> None:
        """A document begins."""
        self.documents.append(document)
        if document.file in self._files:
            self._again.add(document)
        elif document.file:
            self._files.add(document.file)

    def items(self, document: Document, items: list[Entry | Child], line_of: Callable[[int], int]) -> None:  # noqa: ARG002
        """Write the URLs of the next items."""
        if self._listing == "urls" and document not in self._again:
            pages = [item for item in items if isinstance(item, Entry)]
            lines = _json_lines(pages, document.file) if self._as_json else [f"{safe(page.loc)}\n" for page in pages]
            self._write("".join(lines))

    def end(self, document: Document) -> None:
        """A document is over."""

    def finish(self) -> None:
        """Write the tree or the counts, after all documents."""
        if self._listing == "urls":
            return
        if self._as_json:
            self._write(json.dumps(self._json_values(), indent=2) + "\n")
            return
        self._write(fitted(self._tree() if self._listing == "tree" else self._counts()))

    def unread_findings(self) -> list[Finding]:
        """The findings about unread documents, or unread parts of them."""
        return [
            finding
            for document in self.documents
            for finding in document.findings
            if finding.rule in _UNREAD_RULES
            or (finding.rule in _TRUNCATED_RULES and not (document.complete or document.cut))
        ]

    def _tree(self) -> Iterator[str]:
        for document in self.documents:
            yield f"{'  ' * document.depth}{safe(document.file)}  {_describe(document)}"

    def _counts(self) -> Iterator[Line]:
        for document in self._distinct_documents():
            yield Line(f"{document.entries:>12,}  ", safe(document.file))
        yield Line(f"{self._total():>12,}  ", "URLs in total")

    def _distinct_documents(self) -> list[Document]:
        return [document for document in self.documents if document not in self._again]

    def _total(self) -> int:
        return sum(document.entries for document in self._distinct_documents() if document.format is not Format.INDEX)

    def _json_values(self) -> dict[str, Any]:
        if self._listing == "counts":
            files = [{"file": document.file, "entries": document.entries} for document in self._distinct_documents()]
            return {"version": 1, "files": files, "urls": self._total()}
        roots = tuple(document for document in self.documents if document.depth == 0)
        report = json.loads(as_json(LintReport((), roots, 0)))
        return {"version": report["version"], "files": report["files"]}


def _json_lines(pages: list[Entry], file: str) -> Iterator[str]:
    """Pages as JSON, one a line, in ASCII."""
    for page in pages:
        fields = msgspec.to_builtins(page)
        values = {name: None if value == "" else value for name, value in fields.items() if name not in _OF_FEEDS}
        yield json.dumps({**values, "file": file}) + "\n"


def _describe(document: Document) -> str:
    if document.format is None:
        return f"not a sitemap: {safe(document.refusal)}"
    entries = count_text(document.entries, "entry", "entries")
    cut = "" if document.complete else ", not read to the end"
    return f"{document.format}, {entries}, {size_text(document.size)}{cut}"


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


def list_sources(
    task: LintTask, listing: str, write: Callable[[str], object], print_line: OnMessage, *, as_json: bool
) -> None:
    """List the documents as "tree", "urls" or "counts". Errors as for :func:`lint_sources`.

    ``print_line`` gets what could not be read. Raises FindingsFound when there is such a document.
    """
    lister = SitemapLister(listing, write, as_json=as_json)
    with _open_sources(task, print_line) as (documents, _):
        for source in documents:
            _walk(source, lister, task)
    lister.finish()
    for document in [document for document in lister.documents if document.cut][:MAX_MESSAGES]:
        print_line(f"{safe(document.file)}: {safe(document.cut)}")
    losses = lister.unread_findings()
    for finding in losses[:MAX_MESSAGES]:
        print_line(f"{safe(finding.file)}: {safe(finding.sentence)}")
    for document in lister.documents:
        if document.depth == 0 and document.format is None:
            raise FindingsFound(f"{safe(document.file) or 'the document'} is not a sitemap")
    if losses:
        raise FindingsFound("the list is incomplete, because some documents could not be read")


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


def _walk(source: DocumentSource, visitor: Linter | SitemapLister, task: LintTask) -> None:
    try:
        walk(source.source, visitor, opener=source.opener, url=source.url, limits=task.limits)
    except SourceError as error:
        raise UsageError(str(error)) from None
