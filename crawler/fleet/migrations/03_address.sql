-- The address of the origin, which a run with by_address found out: runs of one address are queued one after the other.

ALTER TABLE site ADD COLUMN IF NOT EXISTS address text;
