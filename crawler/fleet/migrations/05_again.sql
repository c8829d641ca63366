-- When a person asked for a notice to be sent again whose worker died while it sent it; a run claims it anew after that.

ALTER TABLE delivery ADD COLUMN IF NOT EXISTS again timestamptz;
