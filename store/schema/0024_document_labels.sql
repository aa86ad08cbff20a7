-- Labels of documents (R6-7, docs/decisions/0042): a caller with labels sees the documents all of whose labels it holds.

ALTER TABLE documents ADD COLUMN labels text[] NOT NULL DEFAULT '{}';
ALTER TABLE api_keys ADD COLUMN labels text[];    -- null: labels do not restrict the key
ALTER TABLE runs ADD COLUMN caller_labels text[]; -- those of the caller; null: labels did not restrict it

-- Returns the labels of the caller of this transaction; null if labels do not restrict it.
CREATE FUNCTION visible_labels() RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN coalesce(current_setting('sourcebound.labels', true), '') <> ''
                THEN ARRAY(SELECT json_array_elements_text(current_setting('sourcebound.labels', true)::json)) END
$$;

ALTER POLICY visible ON documents
    USING (((SELECT visible_ids()) IS NULL OR collection_id = ANY ((SELECT visible_ids())::bigint[]))
           AND ((SELECT visible_labels()) IS NULL OR labels <@ (SELECT visible_labels())));
ALTER POLICY visible ON chunks
    USING (((SELECT visible_ids()) IS NULL OR collection_id = ANY ((SELECT visible_ids())::bigint[]))
           AND ((SELECT visible_labels()) IS NULL
                OR EXISTS (SELECT FROM documents d WHERE d.document_id = chunks.document_id)));
ALTER POLICY visible ON pages
    USING (((SELECT visible_names()) IS NULL AND (SELECT visible_labels()) IS NULL)
           OR EXISTS (SELECT FROM documents d WHERE d.document_id = pages.document_id));
ALTER POLICY visible ON source_files
    USING (((SELECT visible_names()) IS NULL AND (SELECT visible_labels()) IS NULL)
           OR EXISTS (SELECT FROM documents d WHERE d.file_sha256 = source_files.sha256));
-- A run holds texts of everything that its caller could see, so its reader must hold all labels of its caller.
ALTER POLICY visible ON runs
    USING (((SELECT visible_names()) IS NULL OR collection = ANY ((SELECT visible_names())::text[]))
           AND ((SELECT visible_labels()) IS NULL OR caller_labels <@ (SELECT visible_labels())));
ALTER POLICY visible ON run_texts
    USING (((SELECT visible_names()) IS NULL AND (SELECT visible_labels()) IS NULL)
           OR EXISTS (SELECT FROM runs r WHERE r.run_id = run_texts.run_id));
ALTER POLICY visible ON turn_texts
    USING (((SELECT visible_names()) IS NULL AND (SELECT visible_labels()) IS NULL)
           OR EXISTS (SELECT FROM runs r WHERE r.run_id = turn_texts.run_id));
ALTER POLICY visible ON feedback
    USING (((SELECT visible_names()) IS NULL AND (SELECT visible_labels()) IS NULL)
           OR EXISTS (SELECT FROM runs r WHERE r.run_id = feedback.run_id));

DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION visible_labels() SET search_path = %I, pg_temp', current_schema());
END $$;
