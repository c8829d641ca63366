"""The command line of siteatlas: commands, options, output and exit codes.

Front door: ``app.py``. May import everything below, but only when a command needs it: help shows at once.
"""

import os
import sys


def main() -> None:
    """Run the command and leave with its exit code (see crawler.errors)."""
    for descriptor in range(3):  # if the parent closed a stream, the next opened file must not become it
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    from crawler.cli.app import run_command_line  # noqa: PLC0415 - `siteatlas --help` stays quick

    code = run_command_line()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except BrokenPipeError:  # `siteatlas … | head`
            pass
        except OSError:
            code = code or 1
    # Threads of the HTTP client may hold the interpreter lock at shutdown, and would abort the process.
    os._exit(code)
