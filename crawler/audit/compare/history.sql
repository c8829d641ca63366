-- The history of audits.
CREATE TABLE audit (                          -- the last finished ones
  number INTEGER PRIMARY KEY,                 -- of its run in the state
  news BLOB NOT NULL,                         -- msgpack of AuditSummary
  settings TEXT NOT NULL                      -- JSON: those that decide what a crawl finds
);
CREATE TABLE looked (
  rule TEXT PRIMARY KEY,
  started REAL NOT NULL,                      -- of the last audit that could decide the rule, or that checked it
  how BLOB NOT NULL                           -- msgpack of rules.RuleCoverage
) WITHOUT ROWID;
CREATE TABLE finding (
  id INTEGER PRIMARY KEY,
  missed INTEGER NOT NULL,                    -- audits since the last that had it, all undecided
  rule TEXT NOT NULL,
  key BLOB NOT NULL,                          -- finding_identity.finding_identity
  url TEXT NOT NULL,
  file TEXT NOT NULL,
  state TEXT NOT NULL,
  times INTEGER NOT NULL,
  others TEXT NOT NULL,                       -- JSON
  since TEXT NOT NULL,
  certain INTEGER NOT NULL                    -- 1: it was reported as conclusive
);
