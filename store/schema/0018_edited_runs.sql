-- CP-11: the record says whether a person edited the state of the run, and binds the whole result of the model. A run
-- that another one replaced on its thread, before it ended, has a status of its own.

ALTER TABLE validations
    ADD COLUMN generation_digest         text,     -- contracts/audit/digests.py
    ADD COLUMN evidence_supplied_by_hand boolean;  -- null: no

ALTER TABLE runs DROP CONSTRAINT runs_status_check;
ALTER TABLE runs ADD CONSTRAINT runs_status_check
    CHECK (status IN ('RUNNING', 'OK', 'NO_EVIDENCE', 'FAILED', 'REPLACED'));
