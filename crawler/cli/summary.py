"""The summary that a person reads after a crawl. Whatever came from the web is stripped of control characters here."""

import sys
from collections.abc import Callable

from crawler.cli.tables import fitted
from crawler.model import State
from crawler.notify.ledger_status import DeliveryReport, NotifyResult
from crawler.notify.notice import Occasion, SendStatus
from crawler.publish.changes import ChangeCounts, ChangeKind, ChangeSample, sample_lines
from crawler.publish.upload.upload import UploadResult
from crawler.run.report import Report
from crawler.units import clock_text, count_text, size_text
from sitemap import safe

_LABEL_WIDTH = 22
_MAX_NAMED = 3  # changes of each kind
_SEARCH_CONSOLE = "search console"  # the key of its channel
_WEBSUB_PREFIX = "websub "  # how the keys of hubs begin
_DEFER_STATUSES = "the next run sends what could not be delivered, or siteatlas notify sends it now"
_OCCASION_TEXTS = {
    Occasion.TROUBLE: "that runs fail",
    Occasion.RECOVERY: "that runs are well again",
    Occasion.FINDINGS: "what an audit found",
}

_STATE_MEANINGS = {
    State.WRONG_TYPE: "feeds, images, PDF and other files that are not web pages",
    State.OUT_OF_SCOPE: "other hosts, or outside the sitemap's directory",
    State.PENDING: "known, but not visited yet",
}


def summary_lines(report: Report) -> list[str]:
    """The summary, line by line."""
    return [
        *_published(report),
        *_uploaded(report),
        *_notify_lines(report),
        "",
        *_crawl(report),
        *_changed(report),
        *_left_out(report),
        *_notes(report),
    ]


def print_summary(report: Report, say: Callable[[str], None], *, quiet: bool) -> None:
    """Print the summary. ``quiet``: only ``say`` what somebody should know, one sentence after the other."""
    if quiet:
        for sentence in _warnings(report):
            say(sentence)
    else:
        sys.stdout.write(fitted(summary_lines(report)))
        sys.stdout.flush()


def _warnings(report: Report) -> list[str]:
    """What somebody should know who wants to hear of nothing that is as it should be."""
    announced = report.announced
    is_left = announced is not None and (
        announced.untold or any(each.reception is SendStatus.REFUSED for each in announced.deliveries)
    )
    wrong = [report.refusal if report.exit_code else "", report.upload_error]
    wrong += announced.sentences if announced and is_left else ()
    return [each for each in wrong if each]


def _published(report: Report) -> list[str]:
    if not report.published:
        found = f" ({count_text(report.listed, 'page')} would be listed)" if report.listed else ""
        return [f"nothing was published: {safe(report.refusal)}{found}", *_changes(report)]
    total = sum(file.bytes for file in report.published)
    first, *rest = report.published
    names = first.name if not rest else f"{first.name} and {len(rest):,} more files"
    described = [
        count_text(number, what)
        for number, what in (
            (report.with_lastmod, "with lastmod"),
            (report.images, "image"),
            (report.videos, "video"),
            (report.alternates, "language alternate"),
        )
        if number
    ]
    return [
        f"{count_text(report.listed, 'page')} listed in {safe(report.directory)}/{names} ({size_text(total)})",
        *([f"  {', '.join(described)}"] if described else []),
        *_changes(report),
        f"  to be served as {report.sitemap_url}",
    ]


def _uploaded(report: Report) -> list[str]:
    if report.upload_error:
        return [f"  {safe(report.upload_error)}"]
    return [f"  {upload_line(report.uploaded)}"] if report.uploaded else []


def upload_line(done: UploadResult) -> str:
    """What an upload did."""
    did = [f"{count_text(done.sent, 'file')} ({size_text(done.bytes)})"] if done.sent else []
    did += [f"{done.removed:,} removed"] if done.removed else []
    where = safe(done.destination)
    return f"uploaded to {where}: {', '.join(did)}" if did else f"nothing to upload: {where} is up to date"


def _notify_lines(report: Report) -> list[str]:
    """Who was told of it, and what, or why not."""
    return notify_text(report.announced, is_tried_again=not report.upload_error) if report.announced else []


def notify_text(announced: NotifyResult, *, is_tried_again: bool = True) -> list[str]:
    """Who was told, and of what, or why not; ``is_tried_again`` unless something else has to be mended first."""
    told = [
        f"notified {_delivery_text(each)}"
        for each in announced.deliveries
        if each.reception is SendStatus.ACCEPTED
    ]
    told += announced.sentences
    if announced.untold and is_tried_again:
        told.append(_DEFER_STATUSES)
    if any(each.refused for each in announced.deliveries):
        told.append("what was refused is set aside; siteatlas notify --resend-refused sends it again")
    return [f"  {safe(each)}" for each in told]


def _delivery_text(each: DeliveryReport) -> str:
    """To whom, and of what. What Google says of the sitemap is news too, but for us."""
    if each.occasion is not Occasion.CHANGES:
        return f"{each.channel} {_OCCASION_TEXTS[each.occasion]}"
    if each.channel == _SEARCH_CONSOLE:
        return f"{each.channel}: the sitemap ({each.said})"
    if each.channel.startswith(_WEBSUB_PREFIX):
        return f"{each.channel}: the feed"
    return f"{each.channel} of {count_text(each.urls, 'change' if each.after else 'page')}"


def _changes(report: Report) -> list[str]:
    """What differs from the set that was published before, if there was one and the new one was looked at."""
    if report.is_first or not report.listed:
        return []
    kinds = ("added", "changed", "removed", "moved", "deindexed")
    told = [f"{number:,} {kind}" for kind in kinds if (number := getattr(report, kind))]
    kept = f"; {report.kept:,} kept although they failed" if report.kept else ""
    return [f"  {', '.join(told) or 'nothing added, changed or removed'}{kept}"]


def _changed(report: Report) -> list[str]:
    """Some of the changes by name: more of them when that is what was asked for."""
    if report.is_first or not report.changes:
        return []
    counts = ChangeCounts(**{kind.value: getattr(report, kind.value) for kind in ChangeKind})
    _, *told = sample_lines(ChangeSample(report.changes, _MAX_NAMED if report.published else 0), counts)
    return told


def _crawl(report: Report) -> list[str]:
    rate = report.fetched / report.seconds if report.seconds else 0
    source = f" from {safe(report.source)}" if report.source else ""
    told = (
        f"crawled {report.url}{source} in {clock_text(report.seconds)}: {count_text(report.fetched, 'request')}, "
        f"{size_text(report.bytes)}, {rate:,.0f} a second"
    )
    if report.resumed:
        told += "; continued an earlier run"
    if report.unchanged:
        told += f"; {report.unchanged:,} responses unchanged"
    if not report.because:
        return [told]
    again = "" if report.complete else "; run the same command again to continue"
    return [told, f"{report.completeness}: {safe(report.because)}{again}"]


def _left_out(report: Report) -> list[str]:
    if not report.left_out:
        return []
    out = ["", "left out, and why"]
    for group in report.left_out:
        meaning = _STATE_MEANINGS.get(group.state, "")
        out.append(f"{group.count:>9,}  {group.state.value:<{_LABEL_WIDTH}}  {meaning}".rstrip())
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
