"""The command line: what a person types, and what every ending looks like. Imports the rest when it is needed."""

import os
import sys


def main() -> None:
    """Run the command and leave with its exit code (see crawler.errors)."""
    for descriptor in range(
        3
    ):  # closed by whoever started us: the next file opened must not be taken for a stream
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
    # The threads of the HTTP client may be holding Python when it is taken down, and would abort the process.
    os._exit(code)
