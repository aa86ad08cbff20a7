-- The bytes of ingested PDFs, so that a reader sees a page as it was printed. Documents with equal bytes share them, and
-- they are removed with the last of these documents.

CREATE TABLE source_files (
    sha256  bytea PRIMARY KEY,               -- of the content
    content bytea NOT NULL
);

ALTER TABLE source_files ALTER COLUMN content SET STORAGE EXTERNAL;  -- a PDF is compressed already

ALTER TABLE documents
    ADD COLUMN file_sha256   bytea REFERENCES source_files,  -- null: not kept
    ADD COLUMN digest_suffix bytea;          -- what source_digest covers after the bytes of the file

CREATE INDEX documents_file ON documents (file_sha256) WHERE file_sha256 IS NOT NULL;

-- The lock makes an ingest of the same bytes into another collection wait until they are gone, or stay.
CREATE FUNCTION remove_unused_files() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM gone WHERE file_sha256 IS NOT NULL) THEN
        PERFORM pg_advisory_xact_lock(91738176906088);
        DELETE FROM source_files f
        WHERE f.sha256 IN (SELECT file_sha256 FROM gone)
          AND NOT EXISTS (SELECT FROM documents d WHERE d.file_sha256 = f.sha256);
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER documents_remove_unused_files AFTER DELETE ON documents
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION remove_unused_files();
