-- What readers say about released answers. A comment can be personal text, so it is erased with the texts of its run.

CREATE TABLE feedback (
    feedback_id text PRIMARY KEY,
    run_id      text NOT NULL REFERENCES runs ON DELETE CASCADE,
    rating      text NOT NULL CHECK (rating IN ('up', 'down')),
    comment     text,
    caller      text,                        -- the id of the API key; null: the user of a server without keys
    given_at    timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX feedback_run ON feedback (run_id);

-- As in 0017_rights.sql, and erases the comments too.
CREATE OR REPLACE FUNCTION erase_runs(ids text[]) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    erased  bigint;
    fresh   text[];
    moments timestamptz[];
BEGIN
    PERFORM pg_advisory_xact_lock(91738176906086);
    DELETE FROM turn_texts WHERE run_id = ANY(ids);
    UPDATE feedback SET comment = NULL WHERE run_id = ANY(ids) AND comment IS NOT NULL;
    DELETE FROM run_texts WHERE run_id = ANY(ids);
    GET DIAGNOSTICS erased = ROW_COUNT;
    UPDATE runs SET context = NULL WHERE run_id = ANY(ids) AND erased_at IS NOT NULL AND context IS NOT NULL;
    WITH marked AS (
        UPDATE runs SET erased_at = now(), context = NULL WHERE run_id = ANY(ids) AND erased_at IS NULL
        RETURNING run_id, erased_at
    )
    SELECT array_agg(run_id ORDER BY run_id), array_agg(erased_at) INTO fresh, moments FROM marked;
    PERFORM note_removals(fresh, 'erased', moments);
    RETURN erased;
END $$;

DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION erase_runs(text[]) SET search_path = %I, pg_temp', current_schema());
END $$;
