CREATE TABLE site (
  name TEXT PRIMARY KEY,
  handled REAL NOT NULL                       -- Unix time: every slot up to here is handled
) WITHOUT ROWID;

CREATE TABLE attempt (                        -- site_state.Attempt
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
