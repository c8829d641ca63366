"""``siteatlas notify``: sends outstanding notifications, or shows what it would send."""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import anyio

from crawler.audit.report.layout import fitted
from crawler.cli.errors import CommandErrors, faults_of, print_json
from crawler.cli.options import CLIENT_KEYS, SitesConfigOption, site_config, with_flags
from crawler.cli.run_sites import site_plans
from crawler.config.config import Config
from crawler.config.plan import CrawlPlan, plan_crawl
from crawler.errors import Incomplete, UsageError, worst_exit_code
from crawler.notify.configure import check_channels
from crawler.notify.ledger_status import DeliveryReport, NotifyResult, channels_by_reason
from crawler.notify.notify import send_notifications, send_test_messages
from crawler.notify.session import ReplayRequest
from crawler.units import count_text
from crawler.url.normalize import host_of
from sitemap import safe

_KEYS: Final = (
    *("output.directory", "site.sitemap_url", "state.directory", "fetch.source", "notify.enabled"),
    *CLIENT_KEYS,
)
_MAX_NAMED: Final = 5  # URLs of a dry run without --verbose
_TURNED_OFF: Final = "notifications are off (enabled = false in [notify]): add --notify to send them"


@with_flags(*_KEYS)
def notify(  # noqa: PLR0913 - the command line is wide
    url: str | None = None,
    config: SitesConfigOption = None,
    site: list[str] | None = None,
    dry_run: bool = False,
    again: bool = False,
    since: int | None = None,
    only: str = "",
    test: bool = False,
    as_json: bool = False,
    quiet: bool = False,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Send the notifications that earlier runs could not send.

    Each run itself notifies search engines, programs and people of its changes. If a run could not send a notification,
    notify sends it. With --dry-run, notify only shows what it would send. It never sends a notification twice, unless
    you use --since or --resend-refused.
    """
    with CommandErrors(
        verbose, "interrupted; siteatlas recorded the sent messages, run the same command again to send the others"
    ) as errors:
        if test and (dry_run or again or since is not None):
            raise UsageError("--test sends only a test message. Use --test alone, or with --only")
        sites = _plans(url, config, site or [], flags)
        replay = ReplayRequest(since=since, refused=again, refresh_status=True, only=only)
        _check_replay(sites, replay)
        results = [(name, _notify_site(name, plan, replay, dry_run=dry_run, test=test)) for name, plan in sites]
        _check([result for _, result in results], only)
        errors.exit_code = worst_exit_code(map(_exit_code, (result for _, result in results)))
        if as_json:
            values = [{"name": name, **result.as_json()} for name, result in results]
            print_json({"exit_code": errors.exit_code, "sites": values})
        else:
            _show(results, errors.print_line, verbose=verbose, quiet=quiet)
        sys.stdout.flush()


def _exit_code(result: NotifyResult) -> int:
    is_refused = any(sent.reception.value == "refused" or sent.refused > 0 for sent in result.deliveries)
    is_left = result.notify_pending or is_refused
    return result.exit_code or (Incomplete.exit_code if is_left else 0)


def _check_replay(sites: list[tuple[str, CrawlPlan]], replay: ReplayRequest) -> None:
    """Raise UsageError for an impossible request, before anything is sent."""
    if not any(plan.config.notify.enabled for _, plan in sites):
        raise UsageError(_TURNED_OFF)
    for name, plan in sites:
        with faults_of(name):
            replay.check(plan)


def _check(results: list[NotifyResult], only: str) -> None:
    """Raise UsageError if no channel matches."""
    channels = sorted({key for result in results for key in result.channels})
    if not channels and not any(result.notify_pending for result in results):
        keys = (f"{section.switch} in [{name}]" for name, section in Config().all_channels.items())
        raise UsageError(f"no channel is configured: set {' or '.join(keys)}")
    if channels and not any(key.startswith(only) for key in channels):
        raise UsageError(f"--only {only} does not match a channel. Choose one of {', '.join(channels)}")


def _plans(
    url: str | None, file: Path | None, names: list[str], flags: Mapping[str, Any]
) -> list[tuple[str, CrawlPlan]]:
    """The plans of the selected sites. Checks all channels before anything is sent."""
    if url is None and file is None:
        raise UsageError("no site is given. Use siteatlas notify URL -o DIR, or siteatlas notify --config FILE")
    if url is None and file is not None:
        sites = site_plans(file, flags, names)
    else:
        plan = plan_crawl(site_config(file, flags, url, names[0] if names else None))
        sites = [(names[0] if names else host_of(plan.seed), plan)]
    for name, plan in sites:
        with faults_of(name):
            check_channels(plan)
    return sites


def _notify_site(name: str, plan: CrawlPlan, replay: ReplayRequest, *, dry_run: bool, test: bool) -> NotifyResult:
    async def send() -> NotifyResult:
        if not plan.config.notify.enabled:
            return NotifyResult(notes=(_TURNED_OFF,))
        if test:
            return await send_test_messages(plan, name, replay.only)
        return await send_notifications(plan, name, dry_run=dry_run, again=replay)

    return anyio.run(send)


def _show(
    results: list[tuple[str, NotifyResult]], print_line: Callable[[str], None], *, verbose: bool, quiet: bool
) -> None:
    for name, result in results:
        if quiet:
            for sentence in result.sentences:
                print_line(f"{name}: {sentence}")
            continue
        head = [f"== {name} =="] if len(results) > 1 else []
        sys.stdout.write(fitted((*head, *_lines(result, verbose=verbose))))


def _lines(result: NotifyResult, *, verbose: bool) -> Iterator[str]:
    for note in result.notes:
        yield f"  {safe(note)}"
    for delivery in result.deliveries:
        if _is_deferred(delivery):
            continue
        yield f"  {_line(delivery)}"
        shown = delivery.shown if verbose else delivery.shown[:_MAX_NAMED]
        yield from (f"    {safe(url)}" for url in shown)
        if len(shown) < len(delivery.shown):
            yield f"    … {len(delivery.shown) - len(shown):,} more (-v shows all)"
    deferred = channels_by_reason(filter(_is_deferred, result.deliveries))
    yield from (f"  {safe(sentence)}" for sentence in deferred)
    reading = result.reading
    if reading and not any(reading.sentence in delivery.said for delivery in result.deliveries):
        yield f"  {safe(reading.channel)}: {safe(reading.sentence)}"
    if not result.channels and not result.notes:
        yield "  no channel is configured"
    elif not result.deliveries and not result.notes:
        yield f"  nothing to send: {', '.join(map(safe, result.channels))}"


def _is_deferred(delivery: DeliveryReport) -> bool:
    return delivery.reception.value == "later" and not delivery.urls and not delivery.refused


def _line(delivery: DeliveryReport) -> str:
    """The result of one delivery."""
    reception = "postponed" if delivery.reception.value == "later" else delivery.reception.value
    text = f"{safe(delivery.said)}{_remedy(delivery)}"
    return f"{safe(delivery.channel)}: {reception}: {safe(_contents_text(delivery))}: {text}"


def _contents_text(delivery: DeliveryReport) -> str:
    """What the delivery reports."""
    if delivery.occasion.value != "changes":
        return delivery.occasion.content
    where = f" of {delivery.host}" if delivery.host else ""
    runs = f"run {delivery.after} to run {delivery.until}" if delivery.after else f"up to run {delivery.until}"
    return f"{count_text(delivery.urls or delivery.refused, 'URL')}, {runs}{where}"


def _remedy(delivery: DeliveryReport) -> str:
    return f"; --resend-refused sends {'it' if delivery.refused == 1 else 'them'} again" if delivery.refused else ""
