"""``siteatlas mcp``: lets an AI assistant ask the tables of the crawls."""

from importlib.util import find_spec
from typing import Any

from crawler.cli.errors import CommandErrors
from crawler.cli.options import StatesConfigOption, with_flags
from crawler.cli.sites import find_states
from crawler.packages import missing_packages


@with_flags("state.directory")
def mcp(config: StatesConfigOption = None, verbose: bool = False, **flags: Any) -> None:
    """Let an AI assistant ask the last run of each site, by the Model Context Protocol.

    mcp speaks to the assistant over standard input and output. It only reads, and requests nothing from the sites.
    """
    with CommandErrors(verbose):
        if find_spec("mcp") is None:
            raise missing_packages("siteatlas mcp", "mcp")
        states = {name: directory for name, directory, _ in find_states(config, flags, [])}
        from crawler.dataset.assistant import build_server  # noqa: PLC0415 - an extra

        build_server(states).run("stdio")
