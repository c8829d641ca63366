"""``siteatlas init``: writes the configuration of sites, and files for other schedulers."""

import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Final

import typer

from crawler.audit.report.layout import Line, fitted, fitted_file
from crawler.cli.errors import CommandErrors
from crawler.cli.init.interval import Interval
from crawler.cli.options import with_parameters

_DEFAULT_CONFIG: Final = Path("siteatlas.toml")

_SCHEDULERS: Final = {
    "systemd": "Write a systemd service and its timer.",
    "systemd_daemon": "Write a systemd service for siteatlas schedule.",
    "cron": "Write lines to add to a crontab.",
    "github": "Write a GitHub Actions workflow that commits the sitemap.",
    "container": "Write a compose file for podman and docker.",
    "kubernetes": "Write a Kubernetes CronJob with a volume.",
    "systemd_worker": "Write a systemd service for a worker of a fleet.",
    "systemd_serve": "Write a systemd service for the web page of a fleet (siteatlas fleet serve).",
    "kubernetes_workers": "Write Kubernetes manifests for the workers and the web page of a fleet.",
}
"""The options that write files for a scheduler; :data:`crawler.cli.init.files.SCHEDULERS` makes these files."""


@with_parameters(
    [
        (name, False, Annotated[bool, typer.Option(f"--{name.replace('_', '-')}", help=text)])
        for name, text in _SCHEDULERS.items()
    ]
)
def init(  # noqa: PLR0913 - the command line is wide
    urls: list[str] | None = None,
    output: Path | None = None,
    config: Path = _DEFAULT_CONFIG,
    every: Interval | None = None,
    indexnow: bool = False,
    user: str = "",
    force: bool = False,
    print_only: bool = False,
    signing_key: Path | None = None,
    signature_agent: str = "",
    verbose: bool = False,
    **schedulers: bool,
) -> None:
    """Write a configuration file, and files for schedulers such as systemd.

    init writes all files into the directory of the configuration file, and the key of IndexNow into the published
    directory and into the static files of a generator that it finds beside it. Read them, and install them
    yourself. init sends no requests, and replaces existing files only with --force.
    """
    with CommandErrors(verbose) as errors:
        if signing_key or signature_agent:
            from crawler.cli.init.files import key_directory  # noqa: PLC0415

            sys.stdout.write(key_directory(signing_key, signature_agent, errors.print_line))
            return
        from crawler.cli.init import files  # noqa: PLC0415 - the crawler is not needed to show help

        options = files.InitOptions(
            urls=tuple(urls or ()),
            config=config,
            output=output,
            every=every,
            indexnow_key=(_written_key(config) or token_hex(16)) if indexnow else "",
            chosen=tuple(name for name, is_chosen in schedulers.items() if is_chosen),
            user=user,
        )
        planned = files.plan_files(options)
        if not print_only:
            files.write_files(planned.files, replaces=force)
        for note in planned.notes:
            errors.print_line(note)
        if print_only:
            sys.stdout.write(fitted_file(_print_files(planned.files)))
            return
        sys.stdout.write(fitted(_step_lines(planned.files, planned.steps)))


def _written_key(config: Path) -> str:
    """The key of IndexNow in the configuration that is there, which a site may serve; "" for none, or a reference."""
    with suppress(OSError, ValueError, AttributeError):
        key = str(tomllib.loads(config.read_text(encoding="utf-8")).get("indexnow", {}).get("key", ""))
        return "" if ":" in key else key
    return ""


def _print_files(files: dict[Path, str]) -> str:
    if len(files) == 1:
        return next(iter(files.values()))
    return "\n".join(f"# ==> {path} <==\n{text}" for path, text in files.items())


def _step_lines(files: dict[Path, str], steps: list[tuple[str, str]]) -> Iterator[str | Line]:
    yield from (f"wrote {path}" for path in files)
    yield from ("", "next:")
    for command, meaning in steps:  # a command stays in one line to copy, however long
        yield Line("  # ", meaning)
        yield Line(f"  {command}")
