"""Reads what was named, with all that it leads to, and has it judged or listed."""

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from crawler.audit.sources.cross_submit import MAX_HOSTS, Judging, Submits, told
from crawler.cli.listing import Lister
from crawler.config.config import Config
from crawler.crawl.documents import Place, is_url, local, places
from crawler.errors import FindingsFound, UsageError
from sitemap import Format, Linter, LintReport, ReadLimits, SourceError, TreeLimits, safe, walk

if TYPE_CHECKING:
    from crawler.crawl.download import Remote

MAX_SAID: Final = 20  # redirects, or losses, that are named

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Task:
    """What is read: the words that a person typed, the address of those that are files, and the settings for requests.

    ``cross_submits``: whether the robots.txt of other hosts is asked; None: when a URL was named.
    """

    words: Sequence[str]
    url: str
    limits: TreeLimits
    config: Config
    cross_submits: bool | None = None


def limits(max_depth: int, max_files: int, max_bytes: int, max_entries: int, max_findings: int) -> TreeLimits:
    """How much is read: indexes under one another and files in all; bytes, unpacked, and entries of one file.

    ``max_findings`` is how many findings of a rule in one file are told, 0 for all.
    """
    return TreeLimits(max_depth, max_files, ReadLimits(max_bytes, max_entries, max_findings=max_findings))


def check(task: Task, rules: Collection[str], say: Say) -> LintReport:
    """Judge it by these rules. ``say`` gets a line for each thing that a report does not hold.

    Raises UsageError for a source that cannot be read, NothingCrawlable for a URL that does not answer.
    """
    with _opened(task, say) as (found, remote):
        submits = Submits(remote.robots if remote and task.cross_submits is not False else None)
        linter = Judging(submits, datetime.now(UTC))
        for place in found:
            _walk(place, linter, task)
        if submits.full:
            say(f"the robots.txt of {MAX_HOSTS} other hosts were asked, and of no more")
        unpacked, private = (remote.unpacked, remote.private) if remote else (set(), set())
    report = linter.report()
    return replace(
        report,
        findings=told(report.findings, rules, unpacked, private),
        not_checked=(*report.not_checked, *_no_way(task, report)),
    )


def _no_way(task: Task, report: LintReport) -> Iterator[str]:
    """What is said when the standard input is an index, which has no folder beside it."""
    if "-" in task.words and task.limits.max_depth:
        index = next((each for each in report.documents if each.format is Format.INDEX), None)
        if index and index.entries and not index.children and index.file == sys.stdin.buffer.name:
            yield "an index on the standard input does not say where its sitemaps are: give its file or URL instead"


def show(task: Task, listing: str, write: Callable[[str], object], say: Say, *, as_json: bool) -> None:
    """List it as "tree", "urls" or "counts". ``say`` and errors as for :func:`check`.

    ``say`` is told what could not be read. Raises FindingsFound when there was such a document.
    """
    lister = Lister(listing, write, as_json=as_json)
    with _opened(task, say) as (found, _):
        for place in found:
            _walk(place, lister, task)
    lister.finish()
    for document in lister.cut()[:MAX_SAID]:
        say(f"{safe(document.file)}: {safe(document.cut)}")
    losses = lister.losses()
    for finding in losses[:MAX_SAID]:
        say(f"{safe(finding.file)}: {safe(finding.sentence)}")
    if lost := lister.not_read():
        raise FindingsFound(f"{safe(lost.file) or 'the document'} is no sitemap")
    if losses:
        raise FindingsFound("the list has gaps: not everything could be read")


@contextmanager
def _opened(task: Task, say: Say) -> Iterator[tuple[Iterator[Place], "Remote | None"]]:
    """The places, and who makes requests if any are to be made."""
    if not task.words:
        raise UsageError(
            "say what is to be checked: siteatlas lint FILE, or URL, or - for the standard input"
        )
    files = local(task.words, task.url)
    if task.cross_submits and not task.url and not any(map(is_url, task.words)):
        raise UsageError("--cross-submits needs the address of the file: --url")
    urls = [word for word in task.words if is_url(word)]
    if not urls and not (task.cross_submits and task.url):
        yield places(task.words, files, task.url, None, say), None
        return
    from crawler.crawl.download import Remote, homes  # noqa: PLC0415 - files are checked without an HTTP client

    with Remote(task.config, homes(urls or [task.url]), task.limits.read.max_bytes) as remote:
        yield places(task.words, files, task.url, remote, say), remote
        for asked, answered in remote.redirects[:MAX_SAID]:
            say(f"{asked} redirects to {answered}")
        if more := len(remote.redirects[MAX_SAID:]):
            say(f"and {more:,} more redirects")


def _walk(place: Place, visitor: Linter | Lister, task: Task) -> None:
    try:
        walk(place.source, visitor, opener=place.opener, url=place.url, limits=task.limits)
    except SourceError as error:
        raise UsageError(str(error)) from None
