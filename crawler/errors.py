"""The ways a run ends badly, each with its exit code. Sentences name the thing and the remedy.

::

    SiteatlasError
     ├── UsageError        2   bad option, bad URL, bad configuration
     ├── PublishRefused    3   the gate keeps the old sitemap
     ├── Incomplete        4   cut short; state saved, run again to go on
     ├── NothingCrawlable  5   host unknown, refused, robots.txt unreachable, nothing indexable
     ├── StateInUse        6   another process holds the state directory
     ├── StorageError      7   disk full, no permission, not a database
     └── FindingsFound    10   a sitemap has findings at or over the threshold
"""

from collections.abc import Iterable
from typing import ClassVar, Final


class SiteatlasError(Exception):
    """Base of all errors that a person is told about in one line; ``untold`` when others could not be told for now."""

    exit_code: ClassVar[int] = 1
    notify_pending = False


class UsageError(SiteatlasError):
    """What was asked cannot be done as asked."""

    exit_code = 2


class PublishRefused(SiteatlasError):
    """The crawl does not deserve to replace what is published."""

    exit_code = 3


class Incomplete(SiteatlasError):
    """The crawl was cut short; its state is saved."""

    exit_code = 4


class NothingCrawlable(SiteatlasError):
    """No page could be had, or none of them belongs in a sitemap."""

    exit_code = 5


class StateInUse(SiteatlasError):
    """Another process works on the same state."""

    exit_code = 6


class StorageError(SiteatlasError):
    """The disk or the state on it refuses."""

    exit_code = 7


class FindingsFound(SiteatlasError):
    """A sitemap that was checked has findings at or over the threshold."""

    exit_code = 10


EXIT_CODES_BY_SEVERITY: Final = (0, 10, 4, 3, 5, 6, 2, 7, 1)

"""The exit codes from the best to the worst: what can be left to the next run comes before what needs a person."""


def worst_exit_code(codes: Iterable[int]) -> int:
    """The exit code of several things done one after the other: that of the worst of them, 0 for none."""
    return max(
        codes,
        key=lambda code: (
            EXIT_CODES_BY_SEVERITY.index(code)
            if code in EXIT_CODES_BY_SEVERITY
            else len(EXIT_CODES_BY_SEVERITY)
        ),
        default=0,
    )


def single_error(group: BaseException) -> BaseException:
    """The exception that task groups have wrapped, when it is one."""
    while isinstance(group, BaseExceptionGroup) and len(group.exceptions) == 1:
        group = group.exceptions[0]
    return group
