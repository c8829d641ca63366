-- The control plane of a fleet. One row per site, attempt, worker, origin and notice; never one per URL.

CREATE TABLE fleet (                          -- what is true of the whole fleet: 'shared' settings, …
  key text PRIMARY KEY,
  value jsonb NOT NULL
);

CREATE TABLE site (
  name text PRIMARY KEY,
  config jsonb NOT NULL,                      -- settings that differ from the defaults; secrets as references
  origin text NOT NULL,                       -- of the start URL: scheme://host:port
  registered timestamptz NOT NULL DEFAULT now(),
  retired timestamptz,                        -- no longer in the configuration; its history stays
  paused boolean NOT NULL DEFAULT false,
  run_now timestamptz,                        -- when a person asked for a run that has not started yet
  handled double precision,                   -- Unix time: every slot up to here is handled, as for the daemon
  next_at timestamptz,                        -- when the next attempt is due; null: never, or it is running
  queued timestamptz,                         -- when a job was put into the queue that has not been taken yet
  job bigint,                                 -- that job, then the job of the running attempt
  epoch bigint NOT NULL DEFAULT 0,            -- counts the leases; who says an older epoch is refused
  lease_until timestamptz,                    -- null: no run holds the site
  worker text,                                -- who holds the lease
  attempt bigint,                             -- the running attempt
  home text,                                  -- the worker whose disk has the newest state
  output text NOT NULL DEFAULT '',            -- the output directory, once a run found no files of others in it
  generation bigint NOT NULL DEFAULT 0,       -- the newest snapshot of the state; 0: none
  snapshot text NOT NULL DEFAULT ''           -- its key in the state store, which has its checksum
) WITH (fillfactor = 70);
CREATE INDEX site_due ON site (next_at) WHERE next_at IS NOT NULL AND queued IS NULL;
CREATE INDEX site_leased ON site (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX site_queued ON site (queued) WHERE queued IS NOT NULL;

CREATE TABLE attempt (                        -- crawler.schedule.site_state.Attempt, by which worker and epoch
  number bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  site text NOT NULL REFERENCES site (name) ON DELETE CASCADE,
  slot double precision NOT NULL,
  because text NOT NULL,
  turn integer NOT NULL,
  began double precision NOT NULL,
  ended double precision,
  fate text,
  exit_code integer,
  run bigint,
  outcome text NOT NULL DEFAULT '',
  told text NOT NULL DEFAULT '',
  untold boolean NOT NULL DEFAULT false,
  epoch bigint NOT NULL,
  worker text NOT NULL
);
CREATE INDEX attempt_of_site ON attempt (site, number);

CREATE TABLE worker (
  id text PRIMARY KEY,                        -- of its state directory: a worker that restarts stays the same
  host text NOT NULL,
  process integer NOT NULL,
  version text NOT NULL,
  slots integer NOT NULL,                     -- sites it runs at once
  started timestamptz NOT NULL DEFAULT now(),
  seen timestamptz NOT NULL DEFAULT now(),
  draining boolean NOT NULL DEFAULT false
);

CREATE TABLE origin (                         -- an origin has one budget, which one run holds at a time
  origin text PRIMARY KEY,
  site text,
  epoch bigint,
  until timestamptz,
  wanted timestamptz,                         -- when another run last asked for it
  not_before timestamptz                      -- a Retry-After that holds for every run
) WITH (fillfactor = 70);

CREATE TABLE delivery (                       -- a notice is claimed before it is sent, so that nobody sends it again
  site text NOT NULL REFERENCES site (name) ON DELETE CASCADE,
  notice text NOT NULL,
  epoch bigint NOT NULL,
  claimed timestamptz NOT NULL DEFAULT now(),
  delivered timestamptz,
  PRIMARY KEY (site, notice)
);
