"""Writes lines for a crontab, with cron's rules for percent signs, time zones and PATH."""

import shlex
from pathlib import Path
from typing import Final

from crawler.cli.init.kit import InitKit

_CRONTAB_TEXT: Final = """\
# {name}: begin
# {what}, for the crontab of the account that owns the files.
# To add it to the crontab, or replace an older version of it:
#   {install}
# It prints problems only; cron mails them to MAILTO, if this machine can send mail.
# Two runs at once are harmless: the second one ends with a message.
{note}# MAILTO=webmaster@example.com
PATH=/usr/local/bin:/usr/bin:/bin
{cron}  {command}
# {name}: end
"""


def crontab(kit: InitKit) -> str:
    """The lines of the crontab, with a comment that says how to install them."""
    notes = [kit.moment.note] if kit.moment.note else []
    if kit.moment.zone:
        notes.append(f"The configuration uses {kit.moment.zone}; cron uses the time zone of this machine.")
    if kit.secret_names():
        notes.append(f"The configuration reads secrets from the environment: set {', '.join(kit.secret_names())} here.")
    # Exit code 4 is a run that was cut short; the next one continues it. cron mails output, not exit codes.
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
    """The idempotent command that adds the lines of a file to the crontab."""
    rest = f"crontab -l | sed '/^# {kit.name}: begin$/,/^# {kit.name}: end$/d'"
    return f"({rest}; cat {shlex.quote(str(file))}) | crontab -"
