"""The file of the ledger: its tables, and what it is told apart by."""

from typing import Final

from crawler.state.database import Database

_TABLES: Final = """
CREATE TABLE line (                           -- how far a channel was told
  id INTEGER PRIMARY KEY,
  channel TEXT NOT NULL,
  host TEXT NOT NULL DEFAULT '',              -- '': all hosts that have no line of their own
  told INTEGER NOT NULL,                      -- the run up to whose end everything was told
  until INTEGER,                              -- the end of the delivery that is under way, NULL: there is none
  position TEXT NOT NULL DEFAULT '',          -- the last URL of the last batch of it that was taken
  tries INTEGER NOT NULL DEFAULT 0,           -- how often in a row it was put off
  due REAL NOT NULL DEFAULT 0,                -- Unix time that the other side asked to wait for
  said TEXT NOT NULL DEFAULT '',              -- why it was put off
  UNIQUE (channel, host)
);
CREATE TABLE refused (                        -- what was set aside, since the same again would be refused again
  id INTEGER PRIMARY KEY,
  channel TEXT NOT NULL,
  host TEXT NOT NULL,
  after INTEGER NOT NULL,
  until INTEGER NOT NULL,
  position TEXT NOT NULL,                     -- the URLs behind this one …
  upto TEXT,                                  -- … and up to this one; NULL: a message
  urls INTEGER NOT NULL,
  said TEXT NOT NULL,
  at REAL NOT NULL
);
CREATE TABLE mood (                           -- whether a channel knows that runs fail
  channel TEXT PRIMARY KEY,
  knows INTEGER NOT NULL DEFAULT 0,           -- 1: trouble was told, and that it is over was not
  pending TEXT NOT NULL DEFAULT '',           -- "trouble" or "recovery", which is still to be told
  run INTEGER NOT NULL DEFAULT 0,
  exit_code INTEGER NOT NULL DEFAULT 0,
  told TEXT NOT NULL DEFAULT '',              -- the sentence of the run
  at REAL NOT NULL DEFAULT 0,                 -- when that was
  due REAL NOT NULL DEFAULT 0,
  said TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE console (                        -- what Google said last of the sitemap
  channel TEXT PRIMARY KEY,
  at REAL NOT NULL,                           -- when it was asked
  submitted TEXT NOT NULL,                    -- RFC 3339, '': never
  downloaded TEXT NOT NULL,
  pending INTEGER NOT NULL,                   -- 1: it waits to be read
  errors INTEGER NOT NULL,
  warnings INTEGER NOT NULL,
  sentence TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE sent (                           -- the log: one row for each message
  id INTEGER PRIMARY KEY,
  at REAL NOT NULL,
  channel TEXT NOT NULL,
  occasion TEXT NOT NULL,                     -- notice.Occasion
  host TEXT NOT NULL,
  after INTEGER NOT NULL,
  until INTEGER NOT NULL,
  urls INTEGER NOT NULL,
  reception TEXT NOT NULL,                    -- notice.Reception
  said TEXT NOT NULL
);
CREATE TABLE present (channel TEXT PRIMARY KEY) WITHOUT ROWID;  -- those that were configured last
CREATE INDEX sent_by_channel ON sent (channel, id);
"""

LEDGER: Final = Database(
    file="notify.db",
    mark=0x53_41_4E_4F,  # "SANO"
    version=1,
    tables=_TABLES,
    what="the record of what others were told",
    remedy="move it away: what changes from then on is told",
)
