"""Renamed settings: the old names still work, hidden, each with one line of warning.

To rename a setting, add its old flag and its old key to the two tables. The environment follows the flags:
``--look-every`` is ``SITEATLAS_LOOK_EVERY`` there.
"""

import functools
import logging
from collections.abc import Mapping
from typing import Any, Final

from crawler.errors import UsageError

log = logging.getLogger(__name__)
FLAGS: Final[Mapping[str, str]] = {
    "--again": "--resend-refused",
    "--answer-to": "--allowed-host",
    "--few-inlinks": "--min-inlinks",
    "--first-now": "--run-on-start",
    "--full-every": "--refetch-every",
    "--grace": "--grace-period",
    "--indexnow-first": "--indexnow-first-run",
    "--keep-attempts": "--history-limit",
    "--longest-pause": "--max-retry-after",
    "--longest-run": "--run-timeout",
    "--longest-trouble": "--max-error-time",
    "--look-every": "--reload-interval",
    "--max-fruitless": "--trap-limit",
    "--max-outside": "--max-unlinked",
    "--max-wire": "--max-download",
    "--no-first-now": "--no-run-on-start",
    "--no-indexnow-first": "--no-indexnow-first-run",
    "--not-scheduled": "--no-schedule",
    "--notify-longest-wait": "--notify-max-retry-after",
    "--notify-named": "--notify-max-urls",
    "--notify-pause": "--notify-retry-delay",
    "--remove-after": "--upload-grace-period",
    "--retry-after": "--retry-delay",
    "--retry-longest": "--max-retry-delay",
    "--scheduled": "--schedule",
    "--search-console-look-every": "--search-console-check-interval",
    "--settle": "--swap-delay",
    "--sites-at-once": "--max-parallel-runs",
    "--stop-within": "--shutdown-timeout",
}
KEYS: Final[Mapping[str, str]] = {
    "audit.few_inlinks": "audit.min_inlinks",
    "audit.max_outside": "audit.max_unlinked",
    "daemon.keep_attempts": "daemon.history_limit",
    "daemon.look_every": "daemon.reload_interval",
    "daemon.names": "daemon.allowed_hosts",
    "daemon.sites_at_once": "daemon.max_parallel_runs",
    "daemon.stop_within": "daemon.shutdown_timeout",
    "fetch.full_every": "fetch.refetch_every",
    "fetch.max_wire": "fetch.max_download",
    "hook.hook_timeout": "hook.timeout",
    "indexnow.first": "indexnow.first_run",
    "notify.longest_wait": "notify.max_retry_after",
    "notify.named": "notify.max_urls",
    "notify.notify_timeout": "notify.timeout",
    "notify.pause": "notify.retry_delay",
    "output.grace": "output.grace_period",
    "output.settle": "output.swap_delay",
    "pace.longest_pause": "pace.max_retry_after",
    "pace.longest_trouble": "pace.max_error_time",
    "parse.deadline": "parse.timeout",
    "schedule.first_now": "schedule.run_on_start",
    "schedule.longest_run": "schedule.run_timeout",
    "schedule.retry_after": "schedule.retry_delay",
    "schedule.retry_longest": "schedule.max_retry_delay",
    "schedule.run_retries": "schedule.retries",
    "scope.max_fruitless": "scope.trap_limit",
    "search_console.look_every": "search_console.check_interval",
    "upload.remove_after": "upload.grace_period",
    "upload.upload_retries": "upload.retries",
    "upload.upload_timeout": "upload.timeout",
}


def variable_of(flag: str) -> str:
    """The environment variable of a flag."""
    return f"SITEATLAS_{flag.removeprefix('--').replace('-', '_').upper()}"


def deprecated(old: str, new: str) -> str:
    """The warning for a name that has been renamed."""
    return f"{old} is deprecated: use {new}"


def given_twice(old: str, new: str) -> str:
    """The message for a setting that is given under both of its names."""
    return f"{old} is the old name of {new}: use only {new}"


def current_keys(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by ``section.key``, as an older version may have stored them, under their present names."""
    return {KEYS.get(key, key): value for key, value in settings.items()}


def current_flags(text: str) -> str:
    """A text, as an older version may have stored it, with flags under their present names."""
    return " ".join(FLAGS.get(word, word) for word in text.split(" "))


def renamed(tables: Mapping[str, Any], source: str, above: str = "") -> dict[str, Any]:
    """The tables of a configuration with every key under its present name. Logs one warning for each old name.

    ``source`` is their file, or ""; ``above`` is the prefix of the keys there, such as ``sites.shop.``. Raises
    UsageError for a key that is given under both names.
    """
    suffix = f" in {source}" if source else ""
    current = {name: dict(table) if isinstance(table, dict) else table for name, table in tables.items()}
    for old, new in KEYS.items():
        section, key = old.split(".")
        table = current.get(section)
        if not isinstance(table, dict) or key not in table:
            continue
        new_key = new.partition(".")[2]
        if new_key in table:
            raise UsageError(given_twice(f"{above}{old}{suffix}", f"{above}{new}"))
        table[new_key] = table.pop(key)
        _warn(deprecated(f"{above}{old}{suffix}", f"{above}{new}"))
    return current


@functools.cache
def _warn(sentence: str) -> None:
    """Log each warning once."""
    log.warning(sentence)
