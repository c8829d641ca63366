"""The file of a state: what it is told apart by, and what is done with one of an older version."""

from typing import Final

from crawler.database import Database
from crawler.state.migrations import STEPS
from crawler.state.tables import TABLES, VERSION

STATE: Final = Database(
    file="state.db",
    mark=0x53_41_54_4C,  # "SATL"
    version=VERSION,
    tables=TABLES,
    what="state",
    remedy="move it away, or choose another directory with --state",
    absent="there is no state in {}: nothing was crawled yet, or --state is another",
    steps=STEPS,
)
