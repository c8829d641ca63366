-- The digests of all snapshots that the state store keeps, and which worker may do what.

ALTER TABLE site ADD COLUMN IF NOT EXISTS older text[] NOT NULL DEFAULT '{}'; -- keys of the snapshots before the newest
ALTER TABLE site ADD COLUMN IF NOT EXISTS left_out text NOT NULL DEFAULT '';  -- what the worker of the last run did not allow
ALTER TABLE worker ADD COLUMN IF NOT EXISTS token text NOT NULL DEFAULT '';   -- of the process, so that copies are noticed
ALTER TABLE worker ADD COLUMN IF NOT EXISTS clock double precision NOT NULL DEFAULT 0; -- seconds that it is ahead of ours
-- Whether a job waits is known by the queue alone: the column queued is of older versions.
CREATE INDEX IF NOT EXISTS site_next ON site (next_at) WHERE next_at IS NOT NULL;
DROP INDEX IF EXISTS site_due, site_queued;
