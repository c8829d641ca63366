"""``siteatlas notify``: tells others now what they were not told yet, or shows what that would be."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from msgspec import Struct

from crawler.cli.errors import CommandErrors
from crawler.cli.help import RAW
from crawler.cli.options import (
    NOTIFY_KEYS,
    ConfigOption,
    JsonOption,
    QuietOption,
    SiteOption,
    site_config,
    with_flags,
)
from crawler.cli.tables import fitted
from crawler.errors import Incomplete, UsageError, worst_exit_code
from crawler.units import count_text
from sitemap import safe

if TYPE_CHECKING:  # the crawler is not needed to show help
    from crawler.config.plan import CrawlPlan
    from crawler.notify.ledger_status import DeliveryReport, NotifyResult
    from crawler.notify.session import ReplayRequest

EPILOG: Final = f"""{RAW}Examples:
  siteatlas notify --config sites.toml --dry-run     what would be sent
  siteatlas notify --config sites.toml --site shop   send what is outstanding
  siteatlas notify --config sites.toml --since 12 --only "search console"
  siteatlas notify --config sites.toml --test        try the channels

Exit codes: 0 everything is delivered, 2 usage or configuration, 4 something could not be delivered yet, 6 state in use
by another process, 7 the state cannot be used."""
_KEYS: Final = (
    "output.directory",
    "output.recent",
    "output.recent_name",
    "site.sitemap_url",
    "state.directory",
    "fetch.source",
    "fetch.resolve",
    "fetch.user_agent",
    "fetch.headers",
    "fetch.basic_auth",
    "fetch.cookies",
    "fetch.proxy",
    "fetch.transport",
    "fetch.ca_file",
    *NOTIFY_KEYS,
)
_MAX_NAMED: Final = 5  # URLs that a person is shown of a dry run
_NO_CHANNEL: Final = (
    "there is nobody to notify: set key in [indexnow], account in [search_console], hubs in [websub], urls in "
    "[webhook], to in [email] or command in [hook], or give --indexnow-key, --webhook and so on"
)
_OCCASION_TEXTS: Final = {
    "trouble": "that runs fail",
    "recovery": "that runs are well again",
    "findings": "what an audit found",
}
_TURNED_OFF: Final = "notifications are off (notify.enabled): --notify sends them anyway"

DryRunOption = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Show what would be sent to whom and what holds it back, but send nothing."
    ),
]
TestOption = Annotated[
    bool,
    typer.Option(
        "--test",
        help="Send a test message to webhooks, by e-mail and to the hook, and check the key file of IndexNow.",
    ),
]


class NotifyRequest(Struct, frozen=True, kw_only=True):
    """What a person asks for. Raises UsageError for what does not go together."""

    dry_run: bool = False
    again: bool = False
    since: int | None = None
    only: str = ""
    test: bool = False

    def __post_init__(self) -> None:
        if self.test and (self.dry_run or self.again or self.since is not None):
            raise UsageError("--test sends a test message and nothing else: give it alone, or with --only")

    @property
    def replay_request(self) -> "ReplayRequest":
        """What of it is for the crawler."""
        from crawler.notify.session import ReplayRequest  # noqa: PLC0415 - the crawler is not needed to show help

        return ReplayRequest(since=self.since, refused=self.again, refresh_status=True, only=self.only)


@with_flags(*_KEYS)
def notify(  # noqa: PLR0913 - the command line is wide
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="The start URL of the site.", show_default=False)
    ] = None,
    config: ConfigOption = None,
    site: SiteOption = None,
    dry_run: DryRunOption = False,
    again: Annotated[
        bool, typer.Option("--resend-refused", help="Send again what was refused and set aside.")
    ] = False,
    since: Annotated[
        int | None,
        typer.Option(
            "--since",
            metavar="RUN",
            min=0,
            help="Send everyone the changes since the end of this run again. 0: since before the first run.",
        ),
    ] = None,
    only: Annotated[
        str,
        typer.Option(
            "--only",
            metavar="NAME",
            help="Notify only channels whose names start with this: indexnow, search console, webhook …",
        ),
    ] = "",
    test: TestOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every URL of a dry run, and log more.")
    ] = False,
    **flags: Any,
) -> None:
    """Notify search engines, hubs, programs and people of the changes since their last notification.

    Runs do this themselves after they publish. Use notify for what a run could not deliver, and to look first with
    --dry-run. Those who are up to date get nothing, however often you use it.
    """
    with CommandErrors(
        verbose, "interrupted; what was sent is recorded, run the same command again to continue"
    ) as told:
        asked = NotifyRequest(dry_run=dry_run, again=again, since=since, only=only, test=test)
        sites = _plans(url, config, site or [], flags)
        _check_request(sites, asked)
        results = [(name, _notify_site(name, ready, asked)) for name, ready in sites]
        _check([announced for _, announced in results], only)
        told.exit_code = worst_exit_code(map(_exit_code, (announced for _, announced in results)))
        if as_json:
            every = [{"name": name, **announced.as_json()} for name, announced in results]
            json.dump({"exit_code": told.exit_code, "sites": every}, sys.stdout, indent=2)
            sys.stdout.write("\n")
        else:
            _show(results, told.print_line, verbose=verbose, quiet=quiet)
        sys.stdout.flush()


def _exit_code(announced: "NotifyResult") -> int:
    is_left = announced.untold or any(map(_is_refused, announced.deliveries))
    return announced.exit_code or (Incomplete.exit_code if is_left else 0)


def _check_request(sites: "list[tuple[str, CrawlPlan]]", asked: NotifyRequest) -> None:
    """Raises UsageError for what cannot be done, before anything is sent."""
    if not any(ready.config.notify.enabled for _, ready in sites):
        raise UsageError(_TURNED_OFF)
    for name, ready in sites:
        try:
            asked.replay_request.check(ready)
        except UsageError as error:
            raise UsageError(f"{name}: {error}") from None


def _check(results: "list[NotifyResult]", only: str) -> None:
    """Raises UsageError when nobody was meant."""
    everyone = sorted({key for announced in results for key in announced.channels})
    if not everyone and not any(announced.untold for announced in results):
        raise UsageError(_NO_CHANNEL)
    if everyone and not any(key.startswith(only) for key in everyone):
        raise UsageError(f"--only {only}: no channel has this name, known are: {', '.join(everyone)}")


def _plans(
    url: str | None, file: Path | None, wanted: list[str], flags: Mapping[str, Any]
) -> "list[tuple[str, CrawlPlan]]":
    """The sites that are meant; everything that is wrong with telling them is told before anything is sent."""
    from crawler.cli.run_sites import site_plans  # noqa: PLC0415
    from crawler.config.plan import plan_crawl  # noqa: PLC0415
    from crawler.notify.configure import check_channels  # noqa: PLC0415 - the crawler is not needed to show help
    from crawler.url.normalize import host_of  # noqa: PLC0415

    if url is None and file is None:
        raise UsageError("say which site: siteatlas notify URL -o DIR, or siteatlas notify --config FILE")
    if url is None and file is not None:
        sites = site_plans(file, flags, wanted)
    else:
        ready = plan_crawl(site_config(file, flags, url, wanted[0] if wanted else None))
        sites = [(wanted[0] if wanted else host_of(ready.seed), ready)]
    for name, ready in sites:
        try:
            check_channels(ready)
        except UsageError as error:
            raise UsageError(f"{name}: {error}") from None
    return sites


def _notify_site(name: str, ready: "CrawlPlan", asked: NotifyRequest) -> "NotifyResult":
    import anyio  # noqa: PLC0415 - the crawler is not needed to show help

    from crawler.notify.ledger_status import NotifyResult  # noqa: PLC0415
    from crawler.notify.notify import send_notifications, send_test_messages  # noqa: PLC0415

    async def tell() -> NotifyResult:
        if not ready.config.notify.enabled:
            return NotifyResult(notes=(_TURNED_OFF,))
        if asked.test:
            return await send_test_messages(ready, name, asked.only)
        return await send_notifications(ready, name, dry_run=asked.dry_run, again=asked.replay_request)

    return anyio.run(tell)


def _is_refused(delivered: "DeliveryReport") -> bool:
    return delivered.reception.value == "refused" or delivered.refused > 0


def _show(
    results: "list[tuple[str, NotifyResult]]", say: Callable[[str], None], *, verbose: bool, quiet: bool
) -> None:
    for name, announced in results:
        if quiet:
            for sentence in announced.sentences:
                say(f"{name}: {sentence}")
            continue
        head = [f"== {name} =="] if len(results) > 1 else []
        sys.stdout.write(fitted((*head, *_lines(announced, verbose=verbose))))


def _lines(announced: "NotifyResult", *, verbose: bool) -> Iterator[str]:
    for note in announced.notes:
        yield f"  {safe(note)}"
    for each in announced.deliveries:
        if _is_deferred(each):
            continue
        yield f"  {_line(each)}"
        shown = each.shown if verbose else each.shown[:_MAX_NAMED]
        yield from (f"    {safe(url)}" for url in shown)
        if len(shown) < len(each.shown):
            yield f"    … {len(each.shown) - len(shown):,} more (-v shows all)"
    yield from _deferred_channels(announced)
    reading = announced.reading
    if reading and not any(reading.sentence in each.said for each in announced.deliveries):
        yield f"  {safe(reading.channel)}: {safe(reading.sentence)}"
    if not announced.channels and not announced.notes:
        yield "  there is nobody to notify"
    elif not announced.deliveries and not announced.notes:
        yield f"  nothing to send: {', '.join(map(safe, announced.channels))}"


def _is_deferred(each: "DeliveryReport") -> bool:
    return each.reception.value == "later" and not each.urls and not each.refused


def _deferred_channels(announced: "NotifyResult") -> Iterator[str]:
    """Who could not be told anything for now: those who could not for the same reason together."""
    reasons: dict[str, list[str]] = {}
    for each in filter(_is_deferred, announced.deliveries):
        word = "failed" if each.occasion.value == "test" else "postponed"  # a test is not sent another time
        reasons.setdefault(f"{word}: {each.said}", []).append(each.channel)
    for said, channels in reasons.items():
        yield f"  {safe(', '.join(dict.fromkeys(channels)))}: {safe(said)}"


def _line(each: "DeliveryReport") -> str:
    """What became of one delivery."""
    reception = "postponed" if each.reception.value == "later" else each.reception.value
    return (
        f"{safe(each.channel)}: {reception}: {safe(_contents_text(each))}: {safe(each.said)}{_remedy(each)}"
    )


def _contents_text(each: "DeliveryReport") -> str:
    """What it told of, or should have."""
    if each.occasion.value != "changes":
        return _OCCASION_TEXTS.get(each.occasion.value, each.occasion.value)
    where = f" of {each.host}" if each.host else ""
    runs = f"run {each.after} to run {each.until}" if each.after else f"up to run {each.until}"
    return f"{count_text(each.urls or each.refused, 'URL')}, {runs}{where}"


def _remedy(each: "DeliveryReport") -> str:
    return f"; --resend-refused sends {'it' if each.refused == 1 else 'them'} again" if each.refused else ""
