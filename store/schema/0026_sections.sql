-- A chunk knows which sections begin within its text, so that a quote is named by the section that it is in. The chunks
-- that are stored already get them when their file is ingested the next time.

ALTER TABLE chunks
    ADD COLUMN section_starts integer[] NOT NULL DEFAULT '{}',  -- offsets in `text`
    ADD COLUMN section_names  text[] NOT NULL DEFAULT '{}';     -- heading paths
