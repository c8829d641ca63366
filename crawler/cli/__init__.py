"""The command line: what a person types, and what every ending looks like. Imports the rest when it is needed."""

import sys


def main() -> None:
    """Run the command and leave with its exit code (see crawler.errors)."""
    from crawler.cli.app import run  # noqa: PLC0415 - `siteatlas --help` stays quick

    sys.exit(run())
