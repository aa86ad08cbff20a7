-- CP-11: a run that its host cancelled before it ended has a status of its own.

ALTER TABLE runs DROP CONSTRAINT runs_status_check;
ALTER TABLE runs ADD CONSTRAINT runs_status_check
    CHECK (status IN ('RUNNING', 'OK', 'NO_EVIDENCE', 'FAILED', 'REPLACED', 'CANCELLED'));
