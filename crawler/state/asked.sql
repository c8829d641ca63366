CREATE TABLE IF NOT EXISTS asked (  -- of URLs that runs asked for, while not all ask for all
  id INTEGER PRIMARY KEY,                     -- of url
  at REAL,                                    -- start of the run that asked last, Unix time
  cause TEXT NOT NULL DEFAULT '',             -- crawl.due.Cause: why this run asks, '' for a new URL and for all
  said TEXT NOT NULL DEFAULT '',              -- the date that the site's sitemap or Git gives now ...
  seen TEXT NOT NULL DEFAULT '',              -- ... and gave when it was asked last
  expires INTEGER NOT NULL DEFAULT 0          -- 1: it states a date from which it may not be indexed
);
