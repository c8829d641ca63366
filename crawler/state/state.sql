CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE url (
  id INTEGER PRIMARY KEY,
  url TEXT NOT NULL UNIQUE
);

CREATE TABLE visit (
  id INTEGER PRIMARY KEY,                     -- of url
  origin TEXT NOT NULL,
  kind INTEGER NOT NULL,                      -- model.DocumentKind
  state TEXT NOT NULL,                        -- model.State
  found INTEGER NOT NULL,                     -- flags of model.DiscoveredBy
  depth INTEGER NOT NULL,
  source INTEGER,                             -- id of the URL it was first discovered on
  reason TEXT NOT NULL DEFAULT '',
  attempts INTEGER NOT NULL DEFAULT 0,
  due REAL NOT NULL DEFAULT 0,                -- Unix time
  status INTEGER,
  target TEXT,                                -- where a redirect or a canonical leads
  trail TEXT NOT NULL DEFAULT '',             -- one line a request: see model.Request
  content INTEGER,                            -- of content: parsed now, or before if it is unchanged
  etag TEXT NOT NULL DEFAULT '',
  last_modified TEXT NOT NULL DEFAULT '',     -- the header as received
  header_date TEXT NOT NULL DEFAULT '',       -- Last-Modified as a W3C datetime, if it is credible
  page_date TEXT NOT NULL DEFAULT '',         -- the best date in the page, W3C
  page_date_source TEXT NOT NULL DEFAULT '',
  seen_at REAL,                               -- Unix time of the answer
  whole INTEGER NOT NULL DEFAULT 0,           -- 1: a body was received, not a 304
  changed INTEGER,                            -- NULL: new or unknown; 0: unchanged; 1: changed
  evidence TEXT NOT NULL DEFAULT '',          -- what changed, in words
  lastmod TEXT NOT NULL DEFAULT '',
  lastmod_source TEXT NOT NULL DEFAULT '',
  discounted TEXT NOT NULL DEFAULT '',        -- what differs and is no change, with the reason
  carried INTEGER NOT NULL DEFAULT 0       -- 1: this run does not ask; this is the visit of an earlier one
);
CREATE INDEX asked_now ON visit (id) WHERE NOT carried;
CREATE VIEW asked_visit AS SELECT * FROM visit WHERE NOT carried;
CREATE INDEX pending ON visit (origin, depth, id) WHERE state = 'pending';

CREATE TABLE content (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,                       -- that parsed it
  reading TEXT NOT NULL,                      -- key of the settings it was parsed with
  digest BLOB NOT NULL,                       -- of everything that was parsed
  type TEXT NOT NULL,                         -- Content-Type
  links BLOB NOT NULL,                        -- frontier/storage.py: ids and flags
  page BLOB,                                  -- msgpack of model.Page without its links, NULL when it is no page
  text BLOB NOT NULL,                         -- crawler.parse.snapshot: for comparison, compressed
  delta BLOB NOT NULL DEFAULT x''             -- crawler.parse.snapshot: against the previous content
);

CREATE TABLE memory (
  id INTEGER PRIMARY KEY,                     -- of url
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  status INTEGER,
  target TEXT,
  content INTEGER,                            -- of the last good answer, like everything down to lastmod_source
  source_key TEXT NOT NULL DEFAULT '',        -- which server gave the validators
  etag TEXT NOT NULL DEFAULT '',
  last_modified TEXT NOT NULL DEFAULT '',
  header_date TEXT NOT NULL DEFAULT '',
  page_date TEXT NOT NULL DEFAULT '',
  page_date_source TEXT NOT NULL DEFAULT '',
  seen_at REAL,
  lastmod TEXT NOT NULL DEFAULT '',           -- as observed; the published one is in published
  lastmod_source TEXT NOT NULL DEFAULT '',
  evidence TEXT NOT NULL DEFAULT '',          -- what changed when lastmod last moved
  first_run INTEGER NOT NULL,
  changed_run INTEGER,                        -- in which the page changed last, or was first seen
  full_run INTEGER,                           -- in which the body was last fetched in full
  last_run INTEGER NOT NULL,                  -- in which the URL was last discovered
  failures INTEGER NOT NULL DEFAULT 0         -- runs in a row with a transient failure
);

CREATE TABLE published (
  id INTEGER PRIMARY KEY,                     -- of url
  content INTEGER NOT NULL,
  lastmod TEXT NOT NULL,
  lastmod_source TEXT NOT NULL,
  grp TEXT NOT NULL DEFAULT '',
  shard INTEGER NOT NULL DEFAULT 1,
  file TEXT NOT NULL DEFAULT '',
  kept INTEGER NOT NULL DEFAULT 0             -- 1: failed transiently, and stays listed; 2: held by the gate
);
CREATE TABLE listing (
  id INTEGER PRIMARY KEY,
  content INTEGER NOT NULL,
  lastmod TEXT NOT NULL,
  lastmod_source TEXT NOT NULL,
  grp TEXT NOT NULL DEFAULT '',
  shard INTEGER,                              -- NULL: not placed yet
  file TEXT NOT NULL DEFAULT '',
  kept INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE run (
  number INTEGER PRIMARY KEY,
  started REAL NOT NULL,                      -- Unix time; the "now" of every decision of the run
  ended REAL,                                 -- NULL: it is running, or can be resumed
  version TEXT NOT NULL,                      -- of siteatlas
  completeness TEXT NOT NULL DEFAULT '',      -- complete, truncated, degraded
  because TEXT NOT NULL DEFAULT '',           -- the limits reached, and what failed
  outcome TEXT NOT NULL DEFAULT '',           -- published, unchanged, refused, nothing
  refusal TEXT NOT NULL DEFAULT '',
  exit_code INTEGER,
  fetched INTEGER NOT NULL DEFAULT 0,         -- requests
  unchanged INTEGER NOT NULL DEFAULT 0,       -- answers 304 or with the same content
  bytes INTEGER NOT NULL DEFAULT 0,           -- received
  seconds REAL NOT NULL DEFAULT 0,
  listed INTEGER NOT NULL DEFAULT 0,
  kept INTEGER NOT NULL DEFAULT 0,
  added INTEGER NOT NULL DEFAULT 0,
  changed INTEGER NOT NULL DEFAULT 0,
  removed INTEGER NOT NULL DEFAULT 0,
  moved INTEGER NOT NULL DEFAULT 0,
  deindexed INTEGER NOT NULL DEFAULT 0,
  notes TEXT NOT NULL DEFAULT '[]',           -- JSON list of sentences
  files TEXT NOT NULL DEFAULT '[]',           -- JSON list of state.runs.PublishedFile, of a run that published
  other_formats TEXT NOT NULL DEFAULT '[]'    -- the same, of the files in other formats
);
CREATE TABLE change (
  run INTEGER NOT NULL,
  url TEXT NOT NULL,
  kind TEXT NOT NULL,                         -- added, changed, removed, moved, deindexed
  target TEXT NOT NULL DEFAULT '',            -- the new URL of a moved page
  lastmod TEXT NOT NULL DEFAULT '',           -- of the page as listed now
  before TEXT NOT NULL DEFAULT '',            -- the lastmod published before
  reason TEXT NOT NULL,                       -- a sentence
  PRIMARY KEY (run, url)
) WITHOUT ROWID;

CREATE TABLE robots (
  origin TEXT PRIMARY KEY,
  fetched_at REAL NOT NULL,                   -- Unix time of the last answer
  status INTEGER,                             -- NULL: no answer
  said TEXT NOT NULL,                         -- its meaning, a sentence
  body BLOB NOT NULL,                         -- of the last readable answer
  copy_at REAL                                -- Unix time of that answer, NULL without one
) WITHOUT ROWID;
CREATE TABLE habit (key INTEGER PRIMARY KEY, habit BLOB NOT NULL);
CREATE TABLE lesson (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE second_read (                    -- of pages that this run fetched twice
  id INTEGER PRIMARY KEY,                     -- of url
  run INTEGER NOT NULL,
  delta BLOB                                  -- crawler.parse.snapshot: between the two; NULL: it failed
);
CREATE TABLE held (                           -- published pages that the last judged run lost: publish/store.py
  id INTEGER PRIMARY KEY,                     -- of url
  cause TEXT NOT NULL,                        -- state, status and target
  since REAL NOT NULL,                        -- Unix time of the first run in a row with this cause
  runs INTEGER NOT NULL                       -- number of these runs
);
