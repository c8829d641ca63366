"""The tables of an audit: what was claimed of which URL and what was found. The file is made anew by every audit.

``input`` has a row for each source that was read, ``claim`` one for each URL that it named, ``entry`` each entry of a
sitemap as it stands there, ``door`` what asking for some of these brought. ``spelling`` and ``home`` say which page of
the site a URL comes to. ``finding`` is the result, ``mended`` what the audit before had and this one has not. The state
of the site stands beside all of these as ``site``.
"""

import sqlite3
from pathlib import Path
from typing import Final

from crawler.state.database import Database, storage_errors

AUDIT_FILE: Final = "audit.db"

AUDIT_TABLES: Final = """
CREATE TABLE input (
  id INTEGER PRIMARY KEY,
  source TEXT NOT NULL,                       -- claim.Source
  account BLOB NOT NULL                       -- msgpack of claim.Account
);
CREATE TABLE claim (
  url TEXT NOT NULL,                          -- canonical form
  input INTEGER NOT NULL,
  first TEXT NOT NULL DEFAULT '',             -- the columns of claim.Claim
  last TEXT NOT NULL DEFAULT '',
  people INTEGER NOT NULL DEFAULT 0,
  bots INTEGER NOT NULL DEFAULT 0,
  engines INTEGER NOT NULL DEFAULT 0,
  ok INTEGER NOT NULL DEFAULT 0,
  moved INTEGER NOT NULL DEFAULT 0,
  dead INTEGER NOT NULL DEFAULT 0,
  status INTEGER NOT NULL DEFAULT 0,
  clicks INTEGER NOT NULL DEFAULT 0,
  impressions INTEGER NOT NULL DEFAULT 0,
  sessions INTEGER NOT NULL DEFAULT 0,
  views INTEGER NOT NULL DEFAULT 0,
  users INTEGER NOT NULL DEFAULT 0,
  links INTEGER NOT NULL DEFAULT 0,
  domains INTEGER NOT NULL DEFAULT 0,
  lastmod TEXT NOT NULL DEFAULT '',
  agents TEXT NOT NULL DEFAULT '{}',          -- JSON
  PRIMARY KEY (url, input)
) WITHOUT ROWID;
CREATE TABLE entry (
  id INTEGER PRIMARY KEY,
  input INTEGER NOT NULL,
  url TEXT NOT NULL,                          -- canonical form
  loc TEXT NOT NULL,                          -- as it is written
  file TEXT NOT NULL,                         -- the URL or path of the sitemap
  line INTEGER NOT NULL,
  lastmod TEXT NOT NULL,                      -- as it is written
  media BLOB NOT NULL,                        -- msgpack: [images, videos, alternates], or empty
  door TEXT NOT NULL,                         -- canonical form of loc, where that is under another name of the site
  page INTEGER                                -- of url in the state: the page that it comes to
);
CREATE TABLE door (
  url TEXT PRIMARY KEY,                       -- of an entry under another name of the site that was asked for
  state TEXT NOT NULL,                        -- the columns of health.visited.Visited
  reason TEXT NOT NULL,
  status INTEGER,
  target TEXT NOT NULL,
  title TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE spelling (
  key TEXT NOT NULL,                          -- orphans.fold of a URL
  id INTEGER NOT NULL,                        -- of a page of the site, in site.url
  PRIMARY KEY (key, id)
) WITHOUT ROWID;
CREATE TABLE home (
  url TEXT PRIMARY KEY,                       -- of a claim
  id INTEGER NOT NULL                         -- of the URL that it comes to, in site.url
) WITHOUT ROWID;
CREATE INDEX homes ON home (id);
CREATE TABLE finding (
  id INTEGER PRIMARY KEY,
  rule TEXT NOT NULL,
  rank REAL NOT NULL,                         -- the greater, the more important
  certain INTEGER NOT NULL,
  url TEXT NOT NULL,
  value BLOB NOT NULL,                        -- msgpack of finding.AuditFinding
  file TEXT NOT NULL,                         -- these five as in it
  state TEXT NOT NULL,
  times INTEGER NOT NULL,
  others TEXT NOT NULL,                       -- JSON: the URLs of its referrers, of a finding about hreflang
  key BLOB NOT NULL,                          -- comparison.identity
  since TEXT NOT NULL DEFAULT '',             -- in the place of the same in value
  new INTEGER NOT NULL DEFAULT 0,             -- how many of its times are new
  stood INTEGER NOT NULL DEFAULT 0            -- 1: an audit before had it
);
CREATE INDEX findings ON finding (rule, rank DESC, url);
CREATE TABLE mended (
  id INTEGER PRIMARY KEY,
  rule TEXT NOT NULL,                         -- the columns of finding.Mended
  url TEXT NOT NULL,
  since TEXT NOT NULL,
  now TEXT NOT NULL,
  file TEXT NOT NULL,
  became TEXT NOT NULL
);
CREATE INDEX mends ON mended (rule, became, since, url);
"""
EVIDENCE: Final = Database(
    file=AUDIT_FILE,
    tables=AUDIT_TABLES,
    description="the findings of an audit",
    remedy="choose another directory with --state",
)


def create_audit_file(path: Path, state: Path) -> sqlite3.Connection:
    """A new, empty file in the place of an older one, with the file of a ``state`` beside it. Raises StorageError."""
    db = EVIDENCE.create(path)
    with storage_errors():
        db.execute("ATTACH ? AS site", (f"{state.absolute().as_uri()}?mode=ro",))
    return db
