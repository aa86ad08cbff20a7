-- What a run that was cut off is gone on with (docs/decisions/0019).

-- A run is noted before its first checkpoint, and with it what the caller chose; `accept` settles the policy.
ALTER TABLE runs ALTER COLUMN policy_version DROP NOT NULL;
ALTER TABLE runs
    ADD COLUMN context json,                 -- the names that the caller chose; null from the response on
    ADD COLUMN worker  bigint;               -- the number of the process that works on it

UPDATE runs SET context = '{}' WHERE status = 'RUNNING' AND thread_id = run_id;  -- another host's runs are its own

CREATE INDEX runs_unfinished ON runs (started_at) WHERE context IS NOT NULL;

-- A process is there for as long as it holds the advisory lock of its number. The look itself shares the lock, so that
-- two who look at once do not take each other for the process.
CREATE FUNCTION is_at_work(number bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT number IS NOT NULL AND NOT pg_try_advisory_xact_lock_shared(number)
$$;

-- What a model answered, from the moment it did. It can be personal, and is erased with the other texts of its run.
CREATE TABLE model_answers (
    run_id         text NOT NULL,
    attempt        integer NOT NULL,
    prompt_sha256  text NOT NULL,
    request_sha256 text,                     -- of the request's body as it left; null where nothing was sent
    generation     json NOT NULL,
    answered_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, attempt, prompt_sha256)
);
