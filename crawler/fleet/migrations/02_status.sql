-- The directory of the published files, for a fleet that was created before 01 had it, and what failed, for the status.

ALTER TABLE site ADD COLUMN IF NOT EXISTS output text NOT NULL DEFAULT '';
CREATE INDEX attempt_failed ON attempt (site, number) WHERE fate IN ('failed', 'broken') AND because <> 'tell';
