"""Reads what was named, with all that it leads to, and has it judged or listed."""

import json
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from crawler.audit.sources.cross_submit import (
    MAX_HOSTS,
    CrossSubmitChecker,
    CrossSubmitLinter,
    reportable_findings,
)
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
    ReadLimits,
    SourceError,
    TreeLimits,
    as_json,
    safe,
    walk,
)

if TYPE_CHECKING:
    from crawler.crawl.download import Downloader


_UNREAD_RULES: Final = frozenset({"index.child_unreadable", "index.too_deep", "index.too_many"})

# Why the end of a document, or some of it, was not read. Some are also told of documents that were read whole.
_TRUNCATED_RULES: Final = frozenset(
    f"sitemap.{name}"
    for name in (
        "truncated",
        "not_xml",
        "not_well_formed",
        "dtd",
        "gzip",
        "too_large",
        "too_many",
        "too_deep",
        "token_too_long",
    )
)


OnLine = Callable[[str], object]


class SitemapLister:
    """Sees documents while they are read (the visitor of :func:`sitemap.walk`), and writes what was asked for.

    ``listing`` is "tree", "urls" or "counts". In JSON the URLs are objects, one a line: ``loc``, ``lastmod``,
    ``changefreq``, ``priority`` (null where it is not said), ``images``, ``videos``, ``alternates``, ``news`` (with the
    fields of :class:`sitemap.Entry`), and ``file``; the tree has the ``files`` of :func:`sitemap.as_json`; the counts
    are ``files``, each with ``file`` and ``entries``, and ``urls``, their sum. What is met again is in the tree only.
    """

    def __init__(self, listing: str, write: OnLine, *, as_json: bool = False) -> None:
        self._documents: list[Document] = []
        self._again: set[Document] = set()
        self._files: set[str] = set()
        self._as_json = as_json
        self._listing = listing
        self._write = write

    def begin(self, document: Document) -> None:
        """A document begins."""
        self._documents.append(document)
        if document.file in self._files:
            self._again.add(document)
        elif document.file:
            self._files.add(document.file)

    def items(self, document: Document, items: list[Entry | Child], line_of: Callable[[int], int]) -> None:  # noqa: ARG002
        """The next items of a document: their URLs are written at once."""
        if self._listing == "urls" and document not in self._again:
            pages = [item for item in items if isinstance(item, Entry)]
            told = (
                _json_lines(pages, document.file)
                if self._as_json
                else [f"{safe(page.loc)}\n" for page in pages]
            )
            self._write("".join(told))

    def end(self, document: Document) -> None:
        """A document is over."""

    def finish(self) -> None:
        """All documents have been read: write what can be told only now."""
        if self._listing == "urls":
            return
        if self._as_json:
            self._write(json.dumps(self._json_values(), indent=2) + "\n")
            return
        for line in {"tree": self._tree, "counts": self._counts}[self._listing]():
            self._write(f"{line}\n")

    def truncated(self) -> list[Document]:
        """The documents of which not all was read, because the limits said so."""
        return [document for document in self._documents if document.cut]

    def unread_findings(self) -> list[Finding]:
        """What says that something was not read."""
        return [
            finding
            for document in self._documents
            for finding in document.findings
            if finding.rule in _UNREAD_RULES
            or (finding.rule in _TRUNCATED_RULES and not (document.complete or document.cut))
        ]

    def not_read(self) -> Document | None:
        """A document that was named and is no sitemap."""
        return next((each for each in self._documents if each.depth == 0 and each.format is None), None)

    def _tree(self) -> Iterator[str]:
        for document in self._documents:
            yield f"{'  ' * document.depth}{safe(document.file)}  {_describe(document)}"

    def _counts(self) -> Iterator[str]:
        for document in self._distinct_documents():
            yield f"{document.entries:>12,}  {safe(document.file)}"
        yield f"{self._total():>12,}  URLs in total"

    def _distinct_documents(self) -> list[Document]:
        return [document for document in self._documents if document not in self._again]

    def _total(self) -> int:
        return sum(each.entries for each in self._distinct_documents() if each.format is not Format.INDEX)

    def _json_values(self) -> dict[str, Any]:
        if self._listing == "counts":
            files = [{"file": each.file, "entries": each.entries} for each in self._distinct_documents()]
            return {"version": 1, "files": files, "urls": self._total()}
        roots = tuple(each for each in self._documents if each.depth == 0)
        told = json.loads(as_json(LintReport((), roots, 0)))
        return {"version": told["version"], "files": told["files"]}


def _json_lines(pages: list[Entry], file: str) -> Iterator[str]:
    """Pages as JSON, one a line, in ASCII."""
    for page in pages:
        told = {
            "loc": page.loc,
            "lastmod": page.lastmod or None,
            "changefreq": page.changefreq or None,
            "priority": page.priority,
            "images": msgspec.to_builtins(page.images),
            "videos": msgspec.to_builtins(page.videos),
            "alternates": msgspec.to_builtins(page.alternates),
            "news": msgspec.to_builtins(page.news),
            "file": file,
        }
        yield json.dumps(told) + "\n"


def _describe(document: Document) -> str:
    if document.format is None:
        return f"no sitemap: {safe(document.refusal)}"
    entries = count_text(document.entries, "entry", "entries")
    cut = "" if document.complete else ", not read to the end"
    return f"{document.format}, {entries}, {size_text(document.size)}{cut}"


MAX_MESSAGES: Final = 20  # redirects, or losses, that are named


OnMessage = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LintTask:
    """What is read: the words that a person typed, the address of those that are files, and the settings for requests.

    ``cross_submits``: whether the robots.txt of other hosts is asked; None: when a URL was named.
    """

    words: Sequence[str]
    url: str
    limits: TreeLimits
    config: Config
    cross_submits: bool | None = None


def build_limits(
    max_depth: int, max_files: int, max_bytes: int, max_entries: int, max_findings: int
) -> TreeLimits:
    """How much is read: indexes under one another and files in all; bytes, unpacked, and entries of one file.

    ``max_findings`` is how many findings of a rule in one file are told, 0 for all.
    """
    return TreeLimits(max_depth, max_files, ReadLimits(max_bytes, max_entries, max_findings=max_findings))


def lint_sources(task: LintTask, rules: Collection[str], say: OnMessage) -> LintReport:
    """Judge it by these rules. ``say`` gets a line for each thing that a report does not hold.

    Raises UsageError for a source that cannot be read, NothingCrawlable for a URL that does not answer.
    """
    with _open_sources(task, say) as (found, remote):
        submits = CrossSubmitChecker(remote.robots if remote and task.cross_submits is not False else None)
        linter = CrossSubmitLinter(submits, datetime.now(UTC))
        for place in found:
            _walk(place, linter, task)
        if submits.full:
            say(f"only the robots.txt of the first {MAX_HOSTS} other hosts were checked")
        unpacked, private = (remote.unpacked, remote.private) if remote else (set(), set())
    report = linter.report()
    return replace(
        report,
        findings=reportable_findings(report.findings, rules, unpacked, private),
        not_checked=(*report.not_checked, *_no_folder(task, report)),
    )


def _no_folder(task: LintTask, report: LintReport) -> Iterator[str]:
    """What is said when the standard input is an index, which has no folder beside it."""
    if "-" in task.words and task.limits.max_depth:
        index = next((each for each in report.documents if each.format is Format.INDEX), None)
        if index and index.entries and not index.children and index.file == sys.stdin.buffer.name:
            yield "an index on standard input does not say where its sitemaps are: give its file or URL instead"


def list_sources(
    task: LintTask, listing: str, write: Callable[[str], object], say: OnMessage, *, as_json: bool
) -> None:
    """List it as "tree", "urls" or "counts". ``say`` and errors as for :func:`check`.

    ``say`` is told what could not be read. Raises FindingsFound when there was such a document.
    """
    lister = SitemapLister(listing, write, as_json=as_json)
    with _open_sources(task, say) as (found, _):
        for place in found:
            _walk(place, lister, task)
    lister.finish()
    for document in lister.truncated()[:MAX_MESSAGES]:
        say(f"{safe(document.file)}: {safe(document.cut)}")
    losses = lister.unread_findings()
    for finding in losses[:MAX_MESSAGES]:
        say(f"{safe(finding.file)}: {safe(finding.sentence)}")
    if lost := lister.not_read():
        raise FindingsFound(f"{safe(lost.file) or 'the document'} is no sitemap")
    if losses:
        raise FindingsFound("the list is incomplete: not everything could be read")


@contextmanager
def _open_sources(
    task: LintTask, say: OnMessage
) -> Iterator[tuple[Iterator[DocumentSource], "Downloader | None"]]:
    """The places, and who makes requests if any are to be made."""
    if not task.words:
        raise UsageError("say what to check: siteatlas lint FILE, or URL, or - for standard input")
    files = named_files(task.words, task.url)
    if task.cross_submits and not task.url and not any(map(is_url, task.words)):
        raise UsageError("--cross-submits needs the URL of the file: --url")
    urls = [word for word in task.words if is_url(word)]
    if not urls and not (task.cross_submits and task.url):
        yield open_documents(task.words, files, task.url, None, say), None
        return
    from crawler.crawl.download import Downloader, origins_of  # noqa: PLC0415 - files are checked without an HTTP client

    with Downloader(task.config, origins_of(urls or [task.url]), task.limits.read.max_bytes) as remote:
        yield open_documents(task.words, files, task.url, remote, say), remote
        for asked, answered in remote.redirects[:MAX_MESSAGES]:
            say(f"{asked} redirects to {answered}")
        if more := len(remote.redirects[MAX_MESSAGES:]):
            say(f"and {more:,} more redirects")


def _walk(place: DocumentSource, visitor: Linter | SitemapLister, task: LintTask) -> None:
    try:
        walk(place.source, visitor, opener=place.opener, url=place.url, limits=task.limits)
    except SourceError as error:
        raise UsageError(str(error)) from None
