-- What a person asked the next run of a site to do, and whether the newest state of the site is in the state store.

ALTER TABLE site ADD COLUMN IF NOT EXISTS requested jsonb;     -- options of the next run, such as {"accept_shrink": true}
ALTER TABLE site ADD COLUMN IF NOT EXISTS applying jsonb;      -- those of the run that has begun, until a snapshot has them
ALTER TABLE site ADD COLUMN IF NOT EXISTS saved timestamptz;   -- when the newest snapshot was stored
ALTER TABLE site ADD COLUMN IF NOT EXISTS unsaved timestamptz; -- since when only the disk of the home has the newest state
ALTER TABLE site ADD COLUMN IF NOT EXISTS held boolean NOT NULL DEFAULT false; -- the gate held pages of the last run, or all
CREATE INDEX site_retired ON site (origin) WHERE retired IS NOT NULL;
