"""The SQL tables of the state."""

from importlib.resources import files
from typing import Final

from crawler.state.database import Database

LEDGER_FILE: Final = "notify.db"
"""The name of the record of notifications, beside the state of a site (:mod:`crawler.notify.ledger`)."""
STATE_VERSION: Final = 4
_FILES: Final = files("crawler.state")
ASKED_TABLE: Final = (_FILES / "asked.sql").read_text(encoding="utf-8")
ADDED: Final = (
    ASKED_TABLE,
    "ALTER TABLE visit ADD COLUMN carried INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX asked_now ON visit (id) WHERE NOT carried",
    "CREATE VIEW asked_visit AS SELECT * FROM visit WHERE NOT carried",
)
"""What states of earlier releases get with their next run."""
HISTORY_TABLES: Final = tuple((_FILES / "history.sql").read_text(encoding="utf-8").strip().split(";\n"))
"""Tables that states of earlier releases get with their next run."""
STATE_TABLES: Final = (
    ASKED_TABLE
    + "".join(f"{table};\n" for table in HISTORY_TABLES)
    + (_FILES / "state.sql").read_text(encoding="utf-8")
)


STATE_DB: Final = Database(
    file="state.db",
    application_id=0x53_41_54_4C,  # "SATL"
    version=STATE_VERSION,
    tables=STATE_TABLES,
    description="state",
    absent_message="{} contains no state. Run siteatlas crawl first, or give the directory of the state with "
    "--state DIR",
)
