-- What a claimed notice is about, so that an operator can send it again when its worker died before it said what became of it.

ALTER TABLE delivery ADD COLUMN IF NOT EXISTS what text NOT NULL DEFAULT '';
CREATE INDEX delivery_open ON delivery (claimed) WHERE delivered IS NULL;
