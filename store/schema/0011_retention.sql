-- Checkpoints may go while the run and its audit records stay; the run says that they went, and why.

ALTER TABLE runs
    ADD COLUMN pruned_at timestamptz,  -- when its checkpoints were removed for their age (CP-7)
    ADD COLUMN erased_at timestamptz;  -- when its texts and its checkpoints were erased (R5P-3)

CREATE INDEX runs_thread ON runs (thread_id);
