"""What the process of a run is told on its standard input. It answers with an ``Ended`` on its standard output."""

from typing import Any, Literal

from msgspec import Struct

from crawler.attempt import Attempt


class Order(Struct, frozen=True, kw_only=True):
    """One errand for one site, as one line of JSON. The pipe stays open: when it ends, so does whoever reads it.

    ``config`` is the configuration of the site in values that JSON knows, with secrets by their names. To "tell" is
    only to announce what is outstanding; ``last`` is then the last run, which may not have been able to tell itself.
    ``began`` is when the attempt did, a Unix time, and ``stop_within`` the seconds to end in when the pipe has ended.
    ``may_audit``: the audit that is due may follow; else it is left to the next run.
    """

    name: str
    task: Literal["run", "tell"]
    config: dict[str, Any]
    last: Attempt | None = None
    began: float | None = None
    stop_within: float = 60.0
    is_verbose: bool = False
    may_audit: bool = True
