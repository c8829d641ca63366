-- The results of Google's APIs.
CREATE TABLE inspection (
  name TEXT NOT NULL,                         -- of the API and its property
  url TEXT NOT NULL,
  day TEXT NOT NULL,                          -- UTC
  body BLOB NOT NULL,                         -- JSON of inspection.IndexStatus
  PRIMARY KEY (name, url)
) WITHOUT ROWID;
CREATE TABLE page (                           -- the responses of a report
  name TEXT NOT NULL,                         -- of the report and its property
  first TEXT NOT NULL,                        -- the days of the report
  last TEXT NOT NULL,
  start INTEGER NOT NULL,                     -- index of its first row
  following INTEGER,                          -- index of the next row, NULL: no rows follow
  body BLOB NOT NULL,                         -- compressed
  PRIMARY KEY (name, first, last, start)
) WITHOUT ROWID;
CREATE TABLE request (
  name TEXT NOT NULL,
  day TEXT NOT NULL,                          -- UTC
  requests INTEGER NOT NULL,
  PRIMARY KEY (name, day)
) WITHOUT ROWID;
