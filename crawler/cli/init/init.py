"""``siteatlas init``: writes the configuration of a site, and what other schedulers want to run it by."""

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from crawler.cli.errors import Told
from crawler.cli.help import RAW

EPILOG: Final = f"""{RAW}Examples:
  siteatlas init https://www.example.com/ -o public
  siteatlas init https://www.example.com/ https://shop.example.com/ -o /srv/www --config sites.toml
  siteatlas init https://www.example.com/ -o /srv/www/site --config /etc/siteatlas/site.toml --systemd
  siteatlas init --config sites.toml --cron --print

Exit codes: 0 done, 1 internal error, 2 usage, or a file is there already, 7 a file cannot be written.
"""
_FILE: Final = Path("siteatlas.toml")


Urls = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="URL",
        help="The sites of a new configuration. Without one, what is asked for is made for --config as it is.",
        show_default=False,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help="The directory that the sitemap is published in; of several sites the one of their directories.  "
        "[default: public]",
    ),
]
ConfigFile = Annotated[
    Path,
    typer.Option(
        "--config", metavar="FILE", help="The TOML file.", envvar="SITEATLAS_CONFIG", show_envvar=False
    ),
]
Systemd = Annotated[bool, typer.Option("--systemd", help="Make a systemd service, and a timer for it.")]
SystemdDaemon = Annotated[
    bool, typer.Option("--systemd-daemon", help="Make a systemd service of siteatlas schedule.")
]
Cron = Annotated[bool, typer.Option("--cron", help="Make lines for a crontab.")]
Github = Annotated[
    bool, typer.Option("--github", help="Make a workflow for GitHub Actions that commits the sitemap.")
]
Kubernetes = Annotated[
    bool, typer.Option("--kubernetes", help="Make a CronJob for Kubernetes, with a volume.")
]
User = Annotated[
    str,
    typer.Option(
        "--user",
        metavar="NAME",
        help="The account that systemd runs it as.  [default: yours, or siteatlas when you are root]",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there already.")]
PrintOnly = Annotated[bool, typer.Option("--print", help="Print the files, and write none.")]
Example = Annotated[
    bool,
    typer.Option("--example", help="Print every setting with its default and its meaning, and leave."),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show where an internal error is.")]


def init(  # noqa: PLR0913 - the command line is wide
    urls: Urls = None,
    output: Output = None,
    config: ConfigFile = _FILE,
    systemd: Systemd = False,
    systemd_daemon: SystemdDaemon = False,
    cron: Cron = False,
    github: Github = False,
    kubernetes: Kubernetes = False,
    user: User = "",
    force: Force = False,
    print_only: PrintOnly = False,
    example: Example = False,
    verbose: Verbose = False,
) -> None:
    """Write a configuration, and units for other schedulers.

    Nothing is crawled and nobody is asked. The files lie beside the configuration, for you to read and to install;
    nothing that is there is replaced without --force.
    """
    with Told(verbose) as told:
        if example:
            from crawler.cli.init.config import example as text  # noqa: PLC0415

            sys.stdout.write(text())
            return
        from crawler.cli.init import files as beginning  # noqa: PLC0415 - the crawler is not needed to show help

        wanted = beginning.Wanted(
            urls=tuple(urls or ()),
            config=config,
            output=output,
            systemd=systemd,
            daemon=systemd_daemon,
            cron=cron,
            github=github,
            kubernetes=kubernetes,
            user=user,
        )
        made = beginning.begin(wanted)
        for note in made.notes:
            told.say(note)
        if print_only:
            sys.stdout.write(_printed(made.files))
            return
        beginning.write(made.files, replaces=force)
        sys.stdout.write("".join(f"{line}\n" for line in _told(made.files, made.steps)))


def _printed(files: dict[Path, str]) -> str:
    if len(files) == 1:
        return next(iter(files.values()))
    return "\n".join(f"# ==> {path} <==\n{text}" for path, text in files.items())


def _told(files: dict[Path, str], steps: list[tuple[str, str]]) -> list[str]:
    told = [f"wrote {path}" for path in files]
    width = max((len(command) for command, _ in steps if len(command) < 60), default=0)
    return [*told, "", "next:", *(f"  {command:{width}}  # {meaning}" for command, meaning in steps)]
