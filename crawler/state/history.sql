CREATE TABLE IF NOT EXISTS seen (             -- what the last finished run saw: crawler/dataset/history.py
  id INTEGER PRIMARY KEY,                     -- of url
  state TEXT NOT NULL,
  status INTEGER,
  target TEXT,
  content INTEGER                             -- of the page that the data set shows
);
CREATE TABLE IF NOT EXISTS history (
  run INTEGER NOT NULL,
  url TEXT NOT NULL,
  changes BLOB NOT NULL,                      -- field, value before and value after of each change, compressed
  PRIMARY KEY (run, url)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS history_run (run INTEGER PRIMARY KEY, bytes INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS register ( -- crawler/moves/register.py
  id INTEGER PRIMARY KEY,
  url TEXT NOT NULL UNIQUE,
  first REAL NOT NULL,                        -- Unix time of the run or the import that knew it first
  last REAL,                                  -- Unix time at which it was listed no more; NULL: it is listed
  source TEXT NOT NULL DEFAULT 'published',   -- what named it: published, or the name of an imported file
  page BLOB,                                  -- as in content, of the page when it left
  text BLOB,
  accepted TEXT NOT NULL DEFAULT '',          -- why it is gone on purpose
  ended TEXT NOT NULL DEFAULT '',             -- by the last check: there, redirected, lost or unknown
  target TEXT NOT NULL DEFAULT '',            -- where it leads
  status INTEGER,                             -- the last status
  asked REAL,                                 -- Unix time of the last check
  reported REAL                               -- Unix time at which its loss was reported
)
