"""How access logs are read."""

from msgspec import Struct

from crawler.evidence.logs.tally import MOST
from crawler.evidence.logs.verify import Resolver


class LogOptions(Struct, frozen=True, kw_only=True):
    """How logs are read.

    ``format`` is a name of :data:`crawler.evidence.logs.formats.NAMES`, nginx's log_format, Apache's LogFormat or a
    ``#Fields:`` line; "" detects. ``verify`` asks DNS (``resolver``, or the system's) for the names of search engines.
    ``most`` are the different requests that are counted at a time, about 300 bytes each. ``processes`` count the lines
    of long logs; whoever is verified is counted by one.
    """

    format: str = ""
    verify: bool = False
    resolver: Resolver | None = None
    most: int = MOST
    processes: int = 1
