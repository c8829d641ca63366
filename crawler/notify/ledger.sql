CREATE TABLE line (                           -- how far a channel was notified
  id INTEGER PRIMARY KEY,
  channel TEXT NOT NULL,
  host TEXT NOT NULL DEFAULT '',              -- '': all hosts without a row of their own
  told INTEGER NOT NULL,                      -- everything up to the end of this run was sent
  until INTEGER,                              -- the last run of the current delivery, NULL: none
  position TEXT NOT NULL DEFAULT '',          -- the last URL of its last accepted batch
  tries INTEGER NOT NULL DEFAULT 0,           -- how often in a row it was deferred
  due REAL NOT NULL DEFAULT 0,                -- Unix time until which the receiver wants a pause
  said TEXT NOT NULL DEFAULT '',              -- why it was deferred
  UNIQUE (channel, host)
);
CREATE TABLE refused (                        -- refused deliveries, which are not sent again by themselves
  id INTEGER PRIMARY KEY,
  channel TEXT NOT NULL,
  host TEXT NOT NULL,
  after INTEGER NOT NULL,
  until INTEGER NOT NULL,
  position TEXT NOT NULL,                     -- the URLs after this one …
  upto TEXT,                                  -- … and up to this one; NULL: a message
  urls INTEGER NOT NULL,
  said TEXT NOT NULL,
  at REAL NOT NULL
);
CREATE TABLE mood (                           -- whether a channel knows that runs fail
  channel TEXT PRIMARY KEY,
  knows INTEGER NOT NULL DEFAULT 0,           -- 1: trouble was sent, and recovery was not
  pending TEXT NOT NULL DEFAULT '',           -- "trouble" or "recovery", still to be sent
  run INTEGER NOT NULL DEFAULT 0,
  exit_code INTEGER NOT NULL DEFAULT 0,
  told TEXT NOT NULL DEFAULT '',              -- the sentence of the run; below it the causes that are known
  at REAL NOT NULL DEFAULT 0,                 -- when that was
  due REAL NOT NULL DEFAULT 0,
  said TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE console (                        -- the last status of the sitemap in Search Console
  channel TEXT PRIMARY KEY,
  at REAL NOT NULL,                           -- when it was read
  submitted TEXT NOT NULL,                    -- RFC 3339, '': never
  downloaded TEXT NOT NULL,
  pending INTEGER NOT NULL,                   -- 1: Google has not read it yet
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
  reception TEXT NOT NULL,                    -- notice.SendStatus
  said TEXT NOT NULL
);
CREATE TABLE total (                          -- all messages ever sent; the log keeps the last ones
  reception TEXT PRIMARY KEY,                 -- notice.SendStatus
  messages INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE present (channel TEXT PRIMARY KEY) WITHOUT ROWID;  -- the channels configured last
CREATE INDEX sent_by_channel ON sent (channel, id);
