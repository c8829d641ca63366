"""A line for cron, whose daemon has its own idea of percent signs, of time zones and of where programs are."""

import shlex
from pathlib import Path
from typing import Final

from crawler.cli.init.kit import InitKit

_CRONTAB_TEXT: Final = """\
# {name}: begin
# {what}, for the crontab of the account that owns the files.
# To put it there, beside what there is and in place of an older one:
#   {install}
# It says nothing unless something is wrong, and cron mails that to MAILTO (where it can send mail).
# Two runs at once do each other no harm: the second one ends and says so.
{note}# MAILTO=webmaster@example.com
PATH=/usr/local/bin:/usr/bin:/bin
{cron}  {command}
# {name}: end
"""


def crontab(kit: InitKit) -> str:
    """The lines, with a comment that says how to install them."""
    notes = [kit.moment.note] if kit.moment.note else []
    if kit.moment.zone:
        notes.append(f"The configuration means {kit.moment.zone}; cron takes the time zone of this machine.")
    if kit.secret_names():
        notes.append(
            f"The configuration wants secrets from the environment: set {', '.join(kit.secret_names())} here."
        )
    # Exit code 4 is a run that was cut short, and the next one goes on: cron mails output, not exit codes.
    command = shlex.join((*kit.program, "run", "--config", str(kit.config), "--quiet"))
    return _CRONTAB_TEXT.format(
        what=kit.description,
        name=kit.name,
        install=install_command(kit, Path(f"{kit.name}.crontab")),
        note="".join(f"# {note}\n" for note in notes),
        cron=kit.moment.cron,
        command=command.replace("%", r"\%"),
    )


def install_command(kit: InitKit, file: Path) -> str:
    """The command that puts the lines of a file into the crontab, once however often it is given."""
    rest = f"crontab -l | sed '/^# {kit.name}: begin$/,/^# {kit.name}: end$/d'"
    return f"({rest}; cat {shlex.quote(str(file))}) | crontab -"
