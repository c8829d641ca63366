-- The tables of an audit. {counts} stands for the columns of source_record.SourceCounts.
CREATE TABLE input (
  id INTEGER PRIMARY KEY,
  source TEXT NOT NULL,                       -- claim.SourceKind
  account BLOB NOT NULL,                      -- msgpack of claim.SourceReport
  doubtful INTEGER NOT NULL DEFAULT 0         -- 1: it may be about another site
);
CREATE TABLE record (
  url TEXT NOT NULL,                          -- canonical form
  input INTEGER NOT NULL,
  first TEXT NOT NULL DEFAULT '',             -- the columns of claim.SourceRecord
  last TEXT NOT NULL DEFAULT '',
  {counts},
  status INTEGER NOT NULL DEFAULT 0,
  lastmod TEXT NOT NULL DEFAULT '',
  agents TEXT NOT NULL DEFAULT '{}',           -- JSON
  pattern TEXT NOT NULL DEFAULT '',           -- urls.file_pattern, '': it is about a page
  row_count INTEGER NOT NULL DEFAULT 1,       -- rows of the source
  PRIMARY KEY (url, input)
) WITHOUT ROWID;
CREATE VIEW claim AS SELECT * FROM record WHERE pattern = '';
CREATE VIEW file_claim AS SELECT * FROM record WHERE pattern != '';
CREATE TEMP TABLE visitor (                   -- in a temporary file: no trace of a person stays
  url TEXT NOT NULL,
  input INTEGER NOT NULL,
  visitor INTEGER NOT NULL,                   -- source_record.SourceRecord.visitors
  errors INTEGER NOT NULL,
  PRIMARY KEY (url, input, visitor)
) WITHOUT ROWID;
CREATE TEMP TABLE success (visitor INTEGER PRIMARY KEY, requests INTEGER NOT NULL);
CREATE TEMP TABLE scanner (visitor INTEGER PRIMARY KEY);
CREATE TABLE bot_request (                    -- of bots for URLs of the site, in all logs
  day TEXT NOT NULL,                          -- UTC, '': not known
  bot TEXT NOT NULL,
  status INTEGER NOT NULL,                    -- 0: no response
  requests INTEGER NOT NULL,
  PRIMARY KEY (day, bot, status)
) WITHOUT ROWID;
CREATE TABLE log_day (day TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE log_about (has_agents INTEGER NOT NULL);  -- one row: 1 if all logs have user agents
CREATE TABLE uncrawled (                      -- the columns of finding.UncrawledPage
  url TEXT PRIMARY KEY,
  section TEXT NOT NULL,
  segment TEXT NOT NULL,
  depth INTEGER,
  inlinks INTEGER NOT NULL,
  is_listed INTEGER NOT NULL,
  lastmod TEXT NOT NULL,
  people INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE page_pattern (pattern TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE entry (
  id INTEGER PRIMARY KEY,
  input INTEGER NOT NULL,
  url TEXT NOT NULL,                          -- canonical form
  loc TEXT NOT NULL,                          -- as it is written
  file TEXT NOT NULL,                         -- the URL or path of the sitemap
  line INTEGER NOT NULL,
  lastmod TEXT NOT NULL,                      -- as it is written
  media BLOB NOT NULL,                        -- msgpack: [images, videos, alternates], or empty
  door TEXT NOT NULL,                         -- canonical form of loc, if under another name of the site
  page INTEGER                                -- in site.url: the page of the entry
);
CREATE TABLE door (
  url TEXT PRIMARY KEY,                       -- of a requested entry under another name of the site
  state TEXT NOT NULL,                        -- the columns of health.visit.VisitedUrl
  reason TEXT NOT NULL,
  status INTEGER,
  target TEXT NOT NULL,
  title TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE spelling (
  key TEXT NOT NULL,                          -- duplicates.normalize_spelling of a URL
  id INTEGER NOT NULL,                        -- of a page of the site, in site.url
  PRIMARY KEY (key, id)
) WITHOUT ROWID;
CREATE TABLE home (
  url TEXT PRIMARY KEY,                       -- of a claim
  id INTEGER NOT NULL                         -- in site.url: the page of the claim
) WITHOUT ROWID;
CREATE INDEX homes ON home (id);
CREATE TABLE finding (
  id INTEGER PRIMARY KEY,
  rule TEXT NOT NULL,
  rank REAL NOT NULL,                         -- the greater, the more important
  certain INTEGER NOT NULL,                   -- times, 0 if it is inconclusive
  likely INTEGER NOT NULL,                    -- times, if it is likely and not certain
  url TEXT NOT NULL,
  value BLOB NOT NULL,                        -- msgpack of finding.AuditFinding
  file TEXT NOT NULL,                         -- these five as in value
  state TEXT NOT NULL,
  times INTEGER NOT NULL,
  others TEXT NOT NULL,                       -- JSON: rests_on in value
  key BLOB NOT NULL,                          -- finding_identity.finding_identity
  since TEXT NOT NULL DEFAULT '',             -- replaces the one in value
  new INTEGER,                                -- how many of its times are new, NULL: no earlier audit can tell
  stood INTEGER NOT NULL DEFAULT 0,           -- 1: the previous audit had it
  accepted INTEGER                            -- index of the entry that accepts it, NULL: none
);
CREATE INDEX findings ON finding (rule, rank DESC, url);
CREATE INDEX acceptances ON finding (accepted) WHERE accepted IS NOT NULL;
CREATE TABLE mended (
  id INTEGER PRIMARY KEY,
  rule TEXT NOT NULL,                         -- the columns of finding.ResolvedFinding
  url TEXT NOT NULL,
  since TEXT NOT NULL,
  now TEXT NOT NULL,
  file TEXT NOT NULL,
  became TEXT NOT NULL
);
CREATE INDEX mends ON mended (rule, became, since, url);
