"""The errors that end a command, each with its exit code. Messages name the thing and the remedy.

::

    SiteatlasError
     ├── UsageError        2   bad option, bad URL, bad configuration
     ├── PublishRefused    3   the gate keeps the old sitemap
     ├── Incomplete        4   cut short; state saved, run again to resume
     ├── NothingCrawlable  5   host unknown, refused, robots.txt unreachable, nothing indexable
     ├── StateInUse        6   another process holds the state directory
     ├── StorageError      7   disk full, no permission, not a database
     └── FindingsFound    10   a sitemap has findings at or over the threshold
"""

import os
import pwd
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Final


class SiteatlasError(Exception):
    """Base of all errors that print one line. ``notify_pending``: some notifications could not be sent yet."""

    exit_code: ClassVar[int] = 1
    notify_pending = False


class UsageError(SiteatlasError):
    """A bad option, URL or configuration."""

    exit_code = 2


class PublishRefused(SiteatlasError):
    """The gate refuses to replace the published sitemap."""

    exit_code = 3


class Incomplete(SiteatlasError):
    """The crawl was cut short; its state is saved."""

    exit_code = 4


class NothingCrawlable(SiteatlasError):
    """No page could be fetched, or none belongs in a sitemap."""

    exit_code = 5


class StateInUse(SiteatlasError):
    """Another process uses the same state."""

    exit_code = 6


class StorageError(SiteatlasError):
    """The disk or the state on it cannot be used."""

    exit_code = 7


class DamagedFile(StorageError):
    """A file of the state is damaged: its content is not what SQLite or Siteatlas wrote."""


class FindingsFound(SiteatlasError):
    """A check has findings at or over the threshold."""

    exit_code = 10


EXIT_CODES_BY_SEVERITY: Final = (0, 4, 10, 3, 5, 6, 2, 7, 1)
"""The exit codes from best to worst: what the next run may fix comes before what needs a person."""


def worst_exit_code(codes: Iterable[int]) -> int:
    """The worst of several exit codes, 0 for none; an unknown one is the worst."""
    ranks = {code: rank for rank, code in enumerate(EXIT_CODES_BY_SEVERITY)}
    return max(codes, key=lambda code: ranks.get(code, len(ranks)), default=0)


def account_name() -> str:
    """The name of the account that runs this process, or its number when it has none here."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def did_you_mean(name: str, known: Iterable[str], otherwise: str, most: int = 1, alike: float = 0.5) -> str:
    """A sentence with the names that an unknown one resembles, at ``most`` so many; ``otherwise`` if it has none.

    They are ``alike`` by the ratio of difflib, from 0 to 1: "Paris" and "Europe/Paris" by 0.59.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - every command would need 2 ms for it

    near = [f'"{each}"' for each in get_close_matches(name, list(known), n=most, cutoff=alike)]
    return f"Did you mean {' or '.join(near)}?" if near else otherwise


class NextRun:
    """How a person gives an option to the next run of a site: with ``command``, or with the command that they typed.

    ``overrides`` are the words of this command that override keys of the configuration.
    """

    def __init__(self) -> None:
        self.command = ""
        self.overrides: Sequence[str] = ()

    def of(self, file: Path, *more: str) -> str:
        """The command for the sites of a configuration, with the ``overrides`` of this one, and ``more`` words.

        If nobody typed this one, its reader may be another account: that of an administrator who gets a mail.
        """
        words = ("run", "--config", str(file.absolute()), *self.overrides, *more)
        if os.isatty(0):
            return shlex.join(("siteatlas", *words))
        program = Path(sys.argv[0])  # a scheduler names it in full, and it may be in no PATH
        named = str(program) if program.is_absolute() and program.name == "siteatlas" else "siteatlas"
        account = ("runuser", "-u", account_name(), "--") if os.geteuid() else ()
        return shlex.join((*account, named, *words))

    def having(self, option: str, typed: str = "run once with") -> str:
        """What to do, as a phrase of a message: ``run siteatlas fleet run-now shop --fresh``."""
        return f"run {self.command} {option}" if self.command else f"{typed} {option}"

    def starting_at(self, url: str) -> str:
        """The same for another start URL, which a configuration has. ``command`` ends with the name of the site."""
        if not self.command:
            return f"run the same command with the URL {url}"
        return f"set site.url of {shlex.split(self.command)[-1]} to {url} in its configuration"


NEXT_RUN: Final = NextRun()
"""That of this process: a daemon or a worker of a fleet names its command to the processes of its runs."""


def single_error(group: BaseException) -> BaseException:
    """The exception inside exception groups of one."""
    while isinstance(group, BaseExceptionGroup) and len(group.exceptions) == 1:
        group = group.exceptions[0]
    return group
