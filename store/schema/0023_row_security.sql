-- The second wall of API keys (R6-7, docs/decisions/0039): a transaction that names its collections sees their rows only.
-- The setting is local to a transaction, so that a pooler passes it to no other caller. Without it, everything is visible.
-- The owner of the tables is not restricted, so the application connects with another role (`sourcebound db grant`).

-- Returns the names of the collections that this transaction sees; null for all.
CREATE FUNCTION visible_names() RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN coalesce(current_setting('sourcebound.collections', true), '') <> ''
                THEN ARRAY(SELECT json_array_elements_text(current_setting('sourcebound.collections', true)::json)) END
$$;

-- Returns their ids; null for all.
CREATE FUNCTION visible_ids() RETURNS bigint[] LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN visible_names() IS NOT NULL
                THEN ARRAY(SELECT collection_id FROM collections WHERE name = ANY (visible_names())) END
$$;

-- Each function is called once for a statement, because it is in a subquery without references.
CREATE POLICY visible ON collections
    USING ((SELECT visible_names()) IS NULL OR name = ANY ((SELECT visible_names())::text[]));
CREATE POLICY visible ON documents
    USING ((SELECT visible_ids()) IS NULL OR collection_id = ANY ((SELECT visible_ids())::bigint[]));
CREATE POLICY visible ON chunks
    USING ((SELECT visible_ids()) IS NULL OR collection_id = ANY ((SELECT visible_ids())::bigint[]));
CREATE POLICY visible ON pages
    USING ((SELECT visible_names()) IS NULL
           OR EXISTS (SELECT FROM documents d WHERE d.document_id = pages.document_id));
CREATE POLICY visible ON source_files
    USING ((SELECT visible_names()) IS NULL
           OR EXISTS (SELECT FROM documents d WHERE d.file_sha256 = source_files.sha256));
CREATE POLICY visible ON runs
    USING ((SELECT visible_names()) IS NULL OR collection = ANY ((SELECT visible_names())::text[]));
CREATE POLICY visible ON run_texts
    USING ((SELECT visible_names()) IS NULL OR EXISTS (SELECT FROM runs r WHERE r.run_id = run_texts.run_id));
CREATE POLICY visible ON turn_texts
    USING ((SELECT visible_names()) IS NULL OR EXISTS (SELECT FROM runs r WHERE r.run_id = turn_texts.run_id));
CREATE POLICY visible ON feedback
    USING ((SELECT visible_names()) IS NULL OR EXISTS (SELECT FROM runs r WHERE r.run_id = feedback.run_id));

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['collections', 'documents', 'chunks', 'pages', 'source_files', 'runs', 'run_texts',
                                'turn_texts', 'feedback'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['visible_names()', 'visible_ids()'] LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', name, current_schema());
    END LOOP;
END $$;
