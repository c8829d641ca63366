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
CREATE TABLE IF NOT EXISTS history_run (run INTEGER PRIMARY KEY, bytes INTEGER NOT NULL)
