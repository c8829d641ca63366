"""Decides whether a run saw the whole site, and what kept it from that. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from crawler.model import State, Url
from crawler.state.runs import Completeness, CompletenessLevel
from crawler.state.store import AskedCounts
from crawler.units import count_text, names_text

_MAX_NAMED: Final = 3  # hosts


class Coverage(Struct, frozen=True, kw_only=True):
    """How much of the site a run saw.

    ``stopped`` says why visiting ended with URLs ``pending``, as the end of a sentence, or is "". ``failed`` counts the
    URLs for which :func:`is_failure` holds, by state; ``cut`` counts the documents that were only read in part, and
    ``example`` is one of them. ``no_robots`` are the origins whose robots.txt could not be fetched. ``carried`` says
    of a run that did not ask for all pages how many it asked for, or is "".
    """

    stopped: str = ""
    pending: int = 0
    too_deep: int = 0
    cut: int = 0
    example: Url = Url("")
    failed: Mapping[State, int] = {}
    no_robots: tuple[str, ...] = ()
    carried: str = ""


def completeness(coverage: Coverage) -> Completeness:
    """Decide the completeness of a run. A run that met a limit is truncated, whatever else failed."""
    limits, failures = list(_limits(coverage)), list(_failures(coverage))
    reason = "; ".join([*filter(None, [coverage.carried]), *limits, *failures])
    if limits:
        return Completeness(CompletenessLevel.TRUNCATED, reason)
    if failures:
        return Completeness(CompletenessLevel.DEGRADED, reason)
    return Completeness(CompletenessLevel.CARRIED if coverage.carried else CompletenessLevel.COMPLETE, reason)


_NAMES: Final = {State.SITEMAP_FILE: "sitemap that could not be read"}


def _limits(coverage: Coverage) -> Iterator[str]:
    if coverage.stopped:
        remaining = f", with {count_text(coverage.pending, 'URL')} left to visit" if coverage.pending else ""
        yield f"{coverage.stopped}{remaining}"
    elif coverage.pending:
        yield f"{count_text(coverage.pending, 'URL')} left to visit"
    if coverage.too_deep:
        yield f"{count_text(coverage.too_deep, 'URL')} further from the start than scope.max_depth"
    if coverage.cut:
        example = f" ({'such as ' if coverage.cut > 1 else ''}{coverage.example})" if coverage.example else ""
        documents = "1 document" if coverage.cut == 1 else f"{coverage.cut:,} documents"
        yield (
            f"{documents} read in part only{example}: see fetch.max_body, fetch.max_download, fetch.max_sitemap and "
            "parse.max_links"
        )


def _failures(coverage: Coverage) -> Iterator[str]:
    if failed := {state: count for state, count in coverage.failed.items() if count}:
        states = ", ".join(f"{_NAMES.get(state, state.value)}: {count:,}" for state, count in failed.items())
        yield f"{count_text(sum(failed.values()), 'URL')} failed ({states})"
    if hosts := coverage.no_robots:
        yield f"robots.txt could not be fetched from {names_text(hosts, _MAX_NAMED)}"


def carried_text(counts: AskedCounts | None, now: float) -> str:
    """How many pages a run asked for that started ``now`` (Unix time), and how old the rest is; "" if for all."""
    if counts is None:
        return ""
    days = round((now - counts.oldest) / 86_400)
    return f"asked {counts.asked:,} of {counts.known:,}; oldest visit {count_text(days, 'day')} ago"
