-- R5P-8: what the role of the application may do (docs/decisions/0032). Only these functions, which run with the rights of
-- the owner, append to the chain, erase texts and mark runs as pruned. `sourcebound db grant` permits a role to call them.

-- Each erasure and pruning, in a chain of its own, so that a mark on a run without one is found.
CREATE TABLE removals (
    position      bigint PRIMARY KEY,
    run_id        text NOT NULL,
    kind          text NOT NULL CHECK (kind IN ('erased', 'pruned')),
    removed_at    timestamptz NOT NULL,
    previous_hash text NOT NULL,
    row_hash      text NOT NULL              -- contracts/audit/removals.py says how it is computed
);

CREATE INDEX removals_run ON removals (run_id);

-- Notes removals of runs, in the order given. The caller has the lock `removal_turn`.
CREATE FUNCTION note_removals(ids text[], what text, moments timestamptz[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    place  bigint := 0;
    before text := repeat('0', 64);
    digest text;
BEGIN
    SELECT position, row_hash INTO place, before FROM removals ORDER BY position DESC LIMIT 1;
    place := coalesce(place, 0);
    before := coalesce(before, repeat('0', 64));
    FOR number IN 1 .. coalesce(cardinality(ids), 0) LOOP
        place := place + 1;
        digest := encode(sha256(convert_to(concat_ws(E'\n', before, place, what,
            to_char(moments[number] AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"'), ids[number]), 'UTF8')), 'hex');
        INSERT INTO removals VALUES (place, ids[number], what, moments[number], before, digest);
        before := digest;
    END LOOP;
END $$;

-- Those from before this migration. When they are noted proves nothing about when they happened.
SELECT note_removals(array_agg(run_id ORDER BY erased_at, run_id), 'erased', array_agg(erased_at ORDER BY erased_at, run_id))
FROM runs WHERE erased_at IS NOT NULL;
SELECT note_removals(array_agg(run_id ORDER BY pruned_at, run_id), 'pruned', array_agg(pruned_at ORDER BY pruned_at, run_id))
FROM runs WHERE pruned_at IS NOT NULL;

CREATE TRIGGER removals_append_only BEFORE UPDATE OR DELETE ON removals
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER removals_no_truncate BEFORE TRUNCATE ON removals
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Locks the end of the chain and returns it.
CREATE FUNCTION lock_audit_head() RETURNS TABLE ("position" bigint, row_hash text) LANGUAGE sql SECURITY DEFINER AS $$
    SELECT position, row_hash FROM audit_head FOR UPDATE
$$;

-- Appends a record and returns its position; null if the chain does not end where the writer expects, or if the record
-- exists already.
CREATE FUNCTION append_validation(record json) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    added validations := json_populate_record(NULL::validations, record);
BEGIN
    UPDATE audit_head SET position = added.position, row_hash = added.row_hash
    WHERE position = added.position - 1 AND row_hash = added.previous_hash
      AND NOT EXISTS (SELECT FROM validations v
                      WHERE v.request_id = added.request_id AND v.run_id = added.run_id AND v.attempt = added.attempt);
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    INSERT INTO validations SELECT added.*;
    RETURN added.position;
END $$;

-- Erases the texts of runs, notes that, and returns the number of attempts whose texts were erased. A run that has not
-- ended can no longer be resumed.
CREATE FUNCTION erase_runs(ids text[]) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    erased  bigint;
    fresh   text[];
    moments timestamptz[];
BEGIN
    PERFORM pg_advisory_xact_lock(91738176906086);
    DELETE FROM turn_texts WHERE run_id = ANY(ids);
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

-- Marks runs as pruned and notes that. Erased and pruned runs stay as they are.
CREATE FUNCTION prune_runs(ids text[]) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    fresh   text[];
    moments timestamptz[];
BEGIN
    PERFORM pg_advisory_xact_lock(91738176906086);
    WITH marked AS (
        UPDATE runs SET pruned_at = now(), context = NULL
        WHERE run_id = ANY(ids) AND erased_at IS NULL AND pruned_at IS NULL
        RETURNING run_id, pruned_at
    )
    SELECT array_agg(run_id ORDER BY run_id), array_agg(pruned_at) INTO fresh, moments FROM marked;
    PERFORM note_removals(fresh, 'pruned', moments);
    RETURN coalesce(cardinality(fresh), 0);
END $$;

-- The tables that they name are those of this schema, whatever the caller has made or set.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['note_removals(text[], text, timestamptz[])', 'lock_audit_head()', 'append_validation(json)',
                                'erase_runs(text[])', 'prune_runs(text[])'] LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', name, current_schema());
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', name);
    END LOOP;
END $$;
