"""The file of a history: its tables, and what it is told apart by."""

from typing import Final

from crawler.state.database import Database

LOCK: Final = "schedule.lock"
WHAT: Final = "the history of the schedule"

_TABLES: Final = """
CREATE TABLE site (
  name TEXT PRIMARY KEY,
  handled REAL NOT NULL                       -- Unix time: no slot up to here will be run, again or at all
) WITHOUT ROWID;

CREATE TABLE attempt (                        -- attempt.Attempt
  number INTEGER PRIMARY KEY,
  site TEXT NOT NULL,
  slot REAL NOT NULL,
  because TEXT NOT NULL,
  turn INTEGER NOT NULL,
  began REAL NOT NULL,
  ended REAL,
  fate TEXT,
  exit_code INTEGER,
  run INTEGER,
  outcome TEXT NOT NULL DEFAULT '',
  told TEXT NOT NULL DEFAULT '',
  untold INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX of_site ON attempt (site, number);
"""

HISTORY: Final = Database(
    file="schedule.db",
    mark=0x53_41_54_53,  # "SATS"
    version=1,
    tables=_TABLES,
    what=WHAT,
    remedy="move it away, or choose another directory with daemon.directory",
)
