-- A run may have several attempts, each recorded whole: its texts are kept beside its audit record, one row an attempt.

ALTER TABLE run_texts ADD COLUMN attempt integer NOT NULL DEFAULT 1;
ALTER TABLE run_texts ALTER COLUMN attempt DROP DEFAULT;
ALTER TABLE run_texts DROP CONSTRAINT run_texts_pkey;
ALTER TABLE run_texts ADD PRIMARY KEY (run_id, attempt);
