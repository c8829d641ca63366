"""``siteatlas explore``: shows the tables of the crawls in a browser."""

import logging
import socket
import sys
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from crawler.cli.errors import CommandErrors
from crawler.cli.options import StatesConfigOption, with_flags
from crawler.cli.sites import find_states
from crawler.errors import UsageError
from crawler.packages import missing_packages

_HOST = "127.0.0.1"


@with_flags("state.directory")
def explore(config: StatesConfigOption = None, port: int = 0, verbose: bool = False, **flags: Any) -> None:
    """Show the pages and links of the last run of each site in a browser.

    explore prints a link that works once, and serves this machine alone, until you stop it. It only reads.
    """
    with CommandErrors(verbose):
        if find_spec("datasette") is None:
            raise missing_packages("siteatlas explore", "explore")
        logging.getLogger("crawler.dataset").setLevel(logging.INFO)  # somebody waits, whatever standard error is
        states = {name: directory for name, directory, _ in find_states(config, flags, [])}
        import uvicorn  # noqa: PLC0415 - only this command and the daemon need it

        from crawler.dataset.explore import build_explorer, one_time_link  # noqa: PLC0415 - an extra

        data = build_explorer(states)
        with _listen(port) as listening:
            place = f"http://{_HOST}:{listening.getsockname()[1]}"
            sys.stdout.write(f"open {one_time_link(data, place)}\nThe link works once. Ctrl-C ends the command.\n")
            sys.stdout.flush()
            server = uvicorn.Server(uvicorn.Config(data.app(), log_level="info" if verbose else "warning"))
            with suppress(KeyboardInterrupt):  # uvicorn ends in order, and raises it then
                server.run(sockets=[listening])


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((_HOST, port))
    except OSError as error:
        raise UsageError(
            f"port {port} cannot be used ({error.strerror}). Choose another with --port, or leave it out"
        ) from error
