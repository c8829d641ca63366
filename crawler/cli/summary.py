"""The summary that a person reads after a crawl. Whatever came from the web is stripped of control characters here."""

from crawler.cli.progress import clock
from crawler.cli.words import amount, count, safe
from crawler.model import State
from crawler.report import Report

_WIDTH = 22

_MEANING = {
    State.OUT_OF_SCOPE: "other hosts, or outside the sitemap's directory",
    State.PENDING: "known, and not visited yet",
}


def lines(report: Report) -> list[str]:
    """The summary, line by line."""
    return [*_published(report), "", *_crawl(report), *_left_out(report), *_notes(report)]


def _published(report: Report) -> list[str]:
    if not report.published:
        found = f" ({count(report.listed, 'page')} would be listed)" if report.listed else ""
        return [f"nothing was published: {safe(report.refusal)}{found}"]
    total = sum(file.bytes for file in report.published)
    first, *rest = report.published
    names = first.name if not rest else f"{first.name} and {len(rest):,} more files"
    described = [
        count(number, what)
        for number, what in (
            (report.with_lastmod, "with lastmod"),
            (report.images, "image"),
            (report.videos, "video"),
            (report.alternates, "language alternate"),
        )
        if number
    ]
    return [
        f"{count(report.listed, 'page')} listed in {safe(report.directory)}/{names} ({amount(total)})",
        *([f"  {', '.join(described)}"] if described else []),
        f"  to be served as {report.sitemap_url}",
    ]


def _crawl(report: Report) -> list[str]:
    rate = report.fetched / report.seconds if report.seconds else 0
    told = (
        f"crawled {report.url} in {clock(report.seconds)}: {count(report.fetched, 'request')}, "
        f"{amount(report.bytes)}, {rate:,.0f} a second"
    )
    if report.resumed:
        told += "; went on where an earlier run stopped"
    if report.complete:
        return [told]
    return [told, f"incomplete: {report.ending}; run the same command again to go on"]


def _left_out(report: Report) -> list[str]:
    if not report.left_out:
        return []
    out = ["", "left out, and why"]
    for group in report.left_out:
        meaning = _MEANING.get(group.state, "")
        out.append(f"{group.count:>9,}  {group.state.value:<{_WIDTH}}  {meaning}".rstrip())
        if group.state is State.PENDING:
            continue
        for example in group.examples:
            reason = f"  ({safe(example.reason)})" if example.reason else ""
            out.append(f"{'':>11}{safe(example.url)}{reason}")
        if group.count > len(group.examples) > 0:
            out.append(f"{'':>11}… {group.count - len(group.examples):,} more")
    return out


def _notes(report: Report) -> list[str]:
    return ["", *(f"note: {safe(note)}" for note in report.notes)] if report.notes else []
