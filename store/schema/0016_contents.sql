-- IX-3: digests bind the stored contents. contracts/corpus/digests.py says how each is computed; here they are computed
-- once for the documents of earlier versions.
--
-- The digests of chunks are in the row of their document, so that no chunk is rewritten and no vector indexed again.

ALTER TABLE documents
    ADD COLUMN chunk_digests   bytea,        -- 32 bytes a chunk, in the order of `ordinal`
    ADD COLUMN contents_digest bytea;        -- of the source, the pages and the chunks

ALTER TABLE documents ALTER COLUMN chunk_digests SET STORAGE EXTERNAL;  -- digests do not compress, and slices are read

CREATE FUNCTION pg_temp.field(value text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN value IS NULL THEN '-'::bytea
                ELSE convert_to(octet_length(convert_to(value, 'UTF8')) || ':' || value, 'UTF8') END
$$;

CREATE FUNCTION pg_temp.field(value integer) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT pg_temp.field(value::text)
$$;

CREATE TEMPORARY TABLE sealed ON COMMIT DROP AS
SELECT d.document_id, k.ordinal,
       sha256(pg_temp.field('chunk_v1') || pg_temp.field(d.knowledge_id) || pg_temp.field(d.title)
           || pg_temp.field(d.source_reference) || pg_temp.field(to_char(d.event_date, 'YYYY-MM-DD'))
           || pg_temp.field(d.equipment_id) || pg_temp.field(d.knowledge_type) || pg_temp.field(d.authority)
           || pg_temp.field(k.chunk_id) || pg_temp.field(k.ordinal) || pg_temp.field(k.page_index)
           || pg_temp.field(k.page_number) || pg_temp.field(k.char_start) || pg_temp.field(k.char_end)
           || pg_temp.field(cardinality(k.heading_path))
           || coalesce((SELECT string_agg(pg_temp.field(h.heading), ''::bytea ORDER BY h.place)
                        FROM unnest(k.heading_path) WITH ORDINALITY AS h (heading, place)), ''::bytea)
           || pg_temp.field(k.text)) AS digest
FROM documents d JOIN chunks k USING (document_id);

CREATE INDEX ON sealed (document_id, ordinal);

-- A chunk that is missing gets zeros, so that the others keep their places.
UPDATE documents d
SET chunk_digests = coalesce(
    (SELECT string_agg(coalesce(s.digest, decode(repeat('00', 32), 'hex')), ''::bytea ORDER BY place)
     FROM generate_series(0, (SELECT max(ordinal) FROM sealed m WHERE m.document_id = d.document_id)) AS place
     LEFT JOIN sealed s ON s.document_id = d.document_id AND s.ordinal = place), ''::bytea);

UPDATE documents d
SET contents_digest = sha256(
    pg_temp.field('document_v1') || pg_temp.field(d.knowledge_id) || pg_temp.field(encode(d.source_digest, 'hex'))
    || coalesce((SELECT string_agg(sha256(pg_temp.field(p.page_index) || pg_temp.field(p.page_number)
                                          || pg_temp.field(p.text)), ''::bytea ORDER BY p.page_index)
                 FROM pages p WHERE p.document_id = d.document_id), ''::bytea)
    || d.chunk_digests);

ALTER TABLE documents ALTER COLUMN chunk_digests SET NOT NULL, ALTER COLUMN contents_digest SET NOT NULL;

-- No longer the exclusive or of all documents: of that, a set of other documents with the same value can be computed.
UPDATE collections c
SET documents_digest = sha256(all_documents.digests)
FROM (SELECT collection_id, string_agg(contents_digest, ''::bytea ORDER BY contents_digest) AS digests
      FROM documents GROUP BY collection_id) AS all_documents
WHERE all_documents.collection_id = c.collection_id;

DROP TABLE sealed;
