-- All statements longer than one line, by name. Values are bind parameters. Only psycopg.sql composes statement text.

-- name: collections
-- Returns the collection of that name, or all collections.
SELECT c.collection_id, c.name, c.embedder, c.embedding_model, c.dimensions, c.metric, c.chunker,
       l.cfgname AS language, c.documents_digest, c.documents,
       coalesce((SELECT s.chunks FROM lexical_statistics s WHERE s.collection_id = c.collection_id), 0) AS chunks,
       (SELECT json_build_object('name', v.name, 'ef_search', v.ef_search, 'recall', v.recall, 'chunks', v.chunks)
        FROM vector_indexes v WHERE v.collection_id = c.collection_id) AS vector_index
FROM collections c JOIN pg_ts_config l ON l.oid = c.language
WHERE %(name)s::text IS NULL OR c.name = %(name)s
ORDER BY c.name

-- name: list_languages
SELECT cfgname AS language FROM pg_ts_config WHERE cfgnamespace = 'pg_catalog'::regnamespace ORDER BY cfgname

-- name: create_collection
INSERT INTO collections (name, embedder, embedding_model, dimensions, metric, chunker, language, documents_digest)
SELECT %(name)s, %(embedder)s, %(embedding_model)s, %(dimensions)s, %(metric)s, %(chunker)s, l.oid, %(digest)s
FROM pg_ts_config l
WHERE l.cfgnamespace = 'pg_catalog'::regnamespace AND l.cfgname = %(language)s
ON CONFLICT (name) DO NOTHING

-- name: lock_collections
-- Locks in a fixed order, so that two concurrent promotions do not deadlock.
SELECT collection_id, name FROM collections WHERE name = ANY(%(names)s) ORDER BY collection_id FOR UPDATE

-- name: missing_documents
-- Returns the documents that one collection holds and another does not.
SELECT d.knowledge_id
FROM documents d
WHERE d.collection_id = %(collection_id)s
  AND NOT EXISTS (SELECT FROM documents o
                  WHERE o.collection_id = %(other_id)s AND o.knowledge_id = d.knowledge_id)
ORDER BY d.knowledge_id

-- name: rename_collection
UPDATE collections SET name = %(name)s WHERE collection_id = %(collection_id)s

-- name: known_documents
SELECT knowledge_id, source_path, source_digest, labels
FROM documents
WHERE collection_id = %(collection_id)s

-- name: list_documents
SELECT d.knowledge_id, d.title, d.source_path,
       (SELECT count(*) FROM chunks k WHERE k.document_id = d.document_id) AS chunks,
       d.revision, d.event_date, d.ingested_at, d.labels,
       (SELECT count(*) FROM pages p WHERE p.document_id = d.document_id) AS pages
FROM documents d
WHERE d.collection_id = %(collection_id)s
ORDER BY d.knowledge_id

-- name: page_documents
-- Returns the number of documents that a caller with these labels may read (all, where they are null) and that have the
-- text, and one row for each of the next ones after a knowledge id. A page without documents is one row of nulls.
WITH matching AS (
    SELECT d.document_id, d.knowledge_id, d.title, d.source_path, d.revision, d.event_date, d.ingested_at, d.labels
    FROM documents d
    WHERE d.collection_id = %(collection_id)s
      AND (%(labels)s::text[] IS NULL OR d.labels <@ %(labels)s::text[])
      AND (%(contains)s::text IS NULL OR
           strpos(lower(concat_ws(' ', d.title, d.knowledge_id, d.revision, array_to_string(d.labels, ' '))),
                  lower(%(contains)s)) > 0)
),
listed AS (
    SELECT * FROM matching m
    WHERE %(after)s::text IS NULL OR m.knowledge_id > %(after)s
    ORDER BY m.knowledge_id LIMIT %(limit)s
)
SELECT t.total, l.knowledge_id, l.title, l.source_path, l.revision, l.event_date, l.ingested_at, l.labels,
       (SELECT count(*) FROM chunks k WHERE k.document_id = l.document_id) AS chunks,
       (SELECT count(*) FROM pages p WHERE p.document_id = l.document_id) AS pages
FROM (SELECT count(*) AS total FROM matching) t LEFT JOIN listed l ON true
ORDER BY l.knowledge_id

-- name: count_visible
-- Counts the documents and the chunks of each collection that a caller with these labels may read.
SELECT collection_id, count(*) AS documents, sum((SELECT count(*) FROM chunks k WHERE k.document_id = d.document_id))
           ::bigint AS chunks
FROM documents d
WHERE d.labels <@ %(labels)s
GROUP BY collection_id

-- name: known_vectors
SELECT k.chunk_id, d.title, k.heading_path, k.text, vector_send(k.embedding) AS vector
FROM chunks k JOIN documents d USING (document_id)
WHERE k.collection_id = %(collection_id)s AND k.chunk_id = ANY(%(chunk_ids)s) AND k.embedding IS NOT NULL

-- name: lock_collection
SELECT FROM collections WHERE collection_id = %(collection_id)s FOR UPDATE

-- name: delete_documents
DELETE FROM documents
WHERE collection_id = %(collection_id)s AND knowledge_id = ANY(%(knowledge_ids)s)

-- name: insert_document
INSERT INTO documents (collection_id, knowledge_id, source_path, source_reference, source_digest, media_type, title,
                       revision, event_date, equipment_id, knowledge_type, authority, chunk_digests, contents_digest,
                       file_sha256, digest_suffix, labels)
VALUES (%(collection_id)s, %(knowledge_id)s, %(source_path)s, %(source_reference)s, %(source_digest)s, %(media_type)s,
        %(title)s, %(revision)s, %(event_date)s, %(equipment_id)s, %(knowledge_type)s, %(authority)s,
        %(chunk_digests)s, %(contents_digest)s, %(file_sha256)s, %(digest_suffix)s, %(labels)s)
RETURNING document_id

-- name: labels_of_documents
SELECT knowledge_id, labels FROM documents
WHERE collection_id = %(collection_id)s AND knowledge_id = ANY(%(knowledge_ids)s)

-- name: label_documents
-- Leaves out documents whose labels are no longer those of `seen`, by knowledge id (all, where it is null).
UPDATE documents SET labels = %(labels)s
WHERE collection_id = %(collection_id)s AND knowledge_id = ANY(%(knowledge_ids)s)
  AND labels IS DISTINCT FROM %(labels)s::text[]
  AND (%(seen)s::json IS NULL OR labels = ARRAY(SELECT json_array_elements_text(%(seen)s::json -> knowledge_id)))

-- name: lock_source_files
-- `remove_unused_files` takes the same lock.
SELECT pg_advisory_xact_lock(91738176906088)

-- name: insert_source_file
INSERT INTO source_files (sha256, content) VALUES (%(sha256)s, %(content)s) ON CONFLICT DO NOTHING

-- name: stage_pages
-- PostgreSQL copies into no table with row-level security, unless the account owns it.
CREATE TEMPORARY TABLE staged_pages (document_id bigint, page_index integer, page_number integer, text text)
ON COMMIT DROP

-- name: copy_pages
COPY staged_pages (document_id, page_index, page_number, text) FROM STDIN (FORMAT BINARY)

-- name: insert_staged_pages
INSERT INTO pages (document_id, page_index, page_number, text)
SELECT document_id, page_index, page_number, text FROM staged_pages

-- name: stage_chunks
-- Holds incoming chunks. One later statement computes their search data.
CREATE TEMPORARY TABLE staged_chunks (
    chunk_id text, document_id bigint, ordinal integer, page_index integer, page_number integer, heading_path text[],
    char_start integer, char_end integer, text text, section_starts integer[], section_names text[],
    further_words text, context text, embedding vector
) ON COMMIT DROP

-- name: copy_chunks
COPY staged_chunks (chunk_id, document_id, ordinal, page_index, page_number, heading_path, char_start, char_end, text,
                    section_starts, section_names, further_words, context, embedding)
FROM STDIN (FORMAT BINARY)

-- name: insert_staged_chunks
INSERT INTO chunks (collection_id, chunk_id, document_id, ordinal, page_index, page_number, heading_path, char_start,
                    char_end, text, section_starts, section_names, search, embedding)
SELECT c.collection_id, s.chunk_id, s.document_id, s.ordinal, s.page_index, s.page_number, s.heading_path,
       s.char_start, s.char_end, s.text, s.section_starts, s.section_names,
       setweight(search_words(c.language, concat_ws(' ', s.text, s.further_words)), 'A')
           || setweight(search_words(c.language, s.context), 'B'),
       s.embedding
FROM collections c, staged_chunks s
WHERE c.collection_id = %(collection_id)s

-- name: update_digest
-- Also stores the count of documents, so that no search has to count them. The digest is that of `digest_documents`.
UPDATE collections
SET documents_digest = coalesce(sha256(stored.digests), %(empty)s), documents = stored.documents
FROM (SELECT count(*) AS documents, string_agg(contents_digest, ''::bytea ORDER BY contents_digest) AS digests
      FROM documents WHERE collection_id = %(collection_id)s) AS stored
WHERE collection_id = %(collection_id)s

-- name: one_state
-- All statements of the transaction see one snapshot, regardless of concurrent writes.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY

-- name: question_words
-- Returns the content words of each search with their statistics and the state of the collection, or one row without a
-- word if there are no words. The last transaction that wrote the collection's row distinguishes two states even if
-- they hold the same documents. A word that few chunks hold is returned with its postings. OFFSET 0 forces an index
-- lookup of each word, even if the planner has outdated statistics of a table that was just filled.
SELECT word.number, word.lexeme, l.lexeme_id, coalesce(l.chunks, 0) AS chunks, p.packed,
       c.documents_digest, c.xmin::text AS writer,
       coalesce(s.chunks, 0) AS all_chunks, coalesce(s.length, 0) AS total_length, coalesce(s.removed, 0) AS removed,
       c.name, c.embedder, c.embedding_model, c.dimensions, c.metric, c.chunker, c.language::text AS language,
       v.name AS index_name, v.ef_search, v.recall, v.chunks AS indexed
FROM collections c
LEFT JOIN lexical_statistics s USING (collection_id)
LEFT JOIN vector_indexes v USING (collection_id)
LEFT JOIN LATERAL (SELECT search.number, found.lexeme
                   FROM unnest(%(searches)s::text[]) WITH ORDINALITY AS search (text, number)
                   CROSS JOIN unnest(search_words(c.language, search.text)) AS found) AS word ON true
LEFT JOIN LATERAL (SELECT * FROM lexemes
                   WHERE lexemes.collection_id = c.collection_id AND lexemes.lexeme = word.lexeme OFFSET 0) AS l ON true
LEFT JOIN LATERAL (SELECT string_agg(of_segment.packed, '') AS packed
                   FROM posting_segments g
                   CROSS JOIN LATERAL (SELECT * FROM postings
                                       WHERE postings.segment = g.segment AND postings.lexeme_id = l.lexeme_id
                                       OFFSET 0) AS of_segment
                   WHERE g.collection_id = c.collection_id AND l.chunks <= %(few)s) AS p ON true
WHERE c.collection_id = %(collection_id)s
ORDER BY word.number, word.lexeme

-- name: known_words
-- Returns the words that are stop words of the collection's language, and those that its chunks hold, in any form.
SELECT asked.word, bool_or(found.lexeme IS NULL) AS is_stop_word, coalesce(max(l.chunks), 0) AS chunks,
       array_remove(array_agg(l.lexeme_id), NULL) AS lexeme_ids
FROM collections c
CROSS JOIN unnest(%(words)s::text[]) AS asked (word)
LEFT JOIN LATERAL unnest(search_words(c.language, asked.word)) AS found ON true
LEFT JOIN LATERAL (SELECT * FROM lexemes
                   WHERE lexemes.collection_id = c.collection_id AND lexemes.lexeme = found.lexeme OFFSET 0) AS l ON true
WHERE c.collection_id = %(collection_id)s
GROUP BY asked.word
HAVING bool_or(found.lexeme IS NULL) OR max(l.chunks) > 0

-- name: visible_documents
-- Returns the documents that a caller with these labels may read, if the collection has others; else null. The count of
-- the collection includes documents that row-level security hides.
SELECT CASE WHEN count(d.document_id) < c.documents THEN array_remove(array_agg(d.document_id), NULL) END AS visible
FROM collections c
LEFT JOIN documents d ON d.collection_id = c.collection_id AND d.labels <@ %(labels)s::text[]
WHERE c.collection_id = %(collection_id)s
GROUP BY c.collection_id

-- name: visible_chunks
-- Returns the chunks of these documents, and their length in words.
SELECT string_agg(int4send(chunk_no), '') AS packed, coalesce(sum(search_length(search)), 0)::bigint AS length
FROM chunks WHERE document_id = ANY(%(visible)s::bigint[])

-- name: filtered_documents
SELECT d.document_id
FROM documents d
WHERE d.collection_id = %(collection_id)s
  AND (%(visible)s::bigint[] IS NULL OR d.document_id = ANY(%(visible)s))
  AND (%(equipment_id)s::text IS NULL OR d.equipment_id = %(equipment_id)s)
  AND (%(knowledge_type)s::text IS NULL OR d.knowledge_type = %(knowledge_type)s)
  AND (%(authority)s::text IS NULL OR d.authority = %(authority)s)
  AND (%(knowledge_id)s::text IS NULL OR d.knowledge_id = %(knowledge_id)s)
  AND (%(knowledge_ids)s::text[] IS NULL OR d.knowledge_id = ANY(%(knowledge_ids)s))
  AND (%(event_date_from)s::date IS NULL OR d.event_date >= %(event_date_from)s)
  AND (%(event_date_to)s::date IS NULL OR d.event_date <= %(event_date_to)s)

-- name: dense_candidates
-- Returns the nearest chunks by exact cosine distance: every row that passes the filters is compared.
SELECT k.chunk_id, k.embedding <=> %(vector)s::vector AS distance
FROM chunks k
WHERE k.collection_id = %(collection_id)s
  AND (%(documents)s::bigint[] IS NULL OR k.document_id = ANY(%(documents)s))
ORDER BY distance, k.chunk_id
LIMIT %(limit)s

-- name: ordered_candidates
-- Orders given candidates by cosine distance, like `dense_candidates`. The sum keeps the planner from reading the whole
-- collection for these few.
SELECT k.chunk_no, k.embedding <=> %(vector)s::vector AS distance
FROM chunks k
WHERE k.collection_id + 0 = %(collection_id)s AND k.chunk_no = ANY(%(chunk_nos)s::integer[])
ORDER BY distance, k.chunk_id

-- name: packed_vectors
SELECT string_agg(int4send(chunk_no) || int8send(document_id) || vector_send(embedding), '') AS packed,
       array_agg(chunk_no) AS chunk_nos, array_agg(chunk_id) AS chunk_ids
FROM chunks
WHERE collection_id = %(collection_id)s AND (%(visible)s::bigint[] IS NULL OR document_id = ANY(%(visible)s))

-- name: near_candidates
-- Returns the nearest chunks that one index finds, by their exact distances. Only the index of that name has the
-- condition on chunk_id, which every chunk fulfils. Both casts begin with vector, or else the parameter would be a
-- halfvec everywhere.
SELECT near.chunk_id, near.embedding <=> %(vector)s::vector AS distance
FROM (SELECT k.chunk_id, k.embedding
      FROM chunks k
      WHERE k.collection_id = %(collection_id)s
        AND k.chunk_id <> %(index)s
        AND (%(documents)s::bigint[] IS NULL OR k.document_id = ANY(%(documents)s))
      ORDER BY k.embedding::halfvec({dimensions}) <=> %(vector)s::vector::halfvec({dimensions})
      LIMIT %(limit)s) AS near
ORDER BY distance, near.chunk_id

-- name: search_width
-- Sets the search width for this transaction, and makes a filtered search continue until it has enough rows.
SELECT set_config('hnsw.ef_search', %(ef_search)s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true)

-- name: create_vector_index
-- A collection may have two indexes. The name in the condition distinguishes them.
CREATE INDEX CONCURRENTLY {name} ON chunks
USING hnsw ((embedding::halfvec({dimensions})) halfvec_cosine_ops) WITH (m = {links}, ef_construction = {width})
WHERE collection_id = {collection_id} AND chunk_id <> {own_name}

-- name: vector_index_names
SELECT c.relname AS name, i.indisvalid AS whole
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = 'chunks'::regclass AND starts_with(c.relname, %(prefix)s)
ORDER BY c.relname

-- name: pgvector_version
SELECT extversion AS version FROM pg_extension WHERE extname = 'vector'

-- name: put_vector_index
INSERT INTO vector_indexes (collection_id, name, ef_search, recall, chunks)
VALUES (%(collection_id)s, %(name)s, %(ef_search)s, %(recall)s, %(chunks)s)
ON CONFLICT (collection_id) DO UPDATE
SET name = excluded.name, ef_search = excluded.ef_search, recall = excluded.recall, chunks = excluded.chunks,
    measured_at = now()

-- name: all_vectors
SELECT vector_send(embedding) AS packed FROM chunks WHERE collection_id = %(collection_id)s

-- name: sample_vectors
-- Always selects the same chunks of a collection, independent of the order of storage.
SELECT chosen.chunk_id, chosen.embedding::text AS vector
FROM (SELECT k.chunk_id, k.embedding
      FROM chunks k
      WHERE k.collection_id = %(collection_id)s
      ORDER BY md5(k.chunk_id), k.chunk_id
      LIMIT %(sample)s) AS chosen

-- name: packed_postings
-- Returns the postings of words from all segments, with forced index lookups as above.
SELECT word.lexeme_id, string_agg(p.packed, '') AS packed
FROM posting_segments s
CROSS JOIN unnest(%(lexeme_ids)s::bigint[]) AS word (lexeme_id)
CROSS JOIN LATERAL (SELECT * FROM postings
                    WHERE postings.segment = s.segment AND postings.lexeme_id = word.lexeme_id OFFSET 0) AS p
WHERE s.collection_id = %(collection_id)s
GROUP BY word.lexeme_id

-- name: removed_chunks
SELECT string_agg(int4send(chunk_no), '') AS packed FROM removed_chunks WHERE collection_id = %(collection_id)s

-- name: filtered_chunks
SELECT string_agg(int4send(chunk_no), '') AS packed FROM chunks WHERE document_id = ANY(%(documents)s::bigint[])

-- name: named_chunks
SELECT chunk_no, chunk_id FROM chunks WHERE chunk_no = ANY(%(chunk_nos)s::integer[])

-- name: candidate_rows
-- Returns the full rows of selected chunks: the distance to the nearest search and to the question, which is the first
-- search, the given words that the chunk holds, and its stored digest (IX-3). OFFSET 0 forces an index lookup of each
-- document, as above.
SELECT k.chunk_id, k.chunk_no, d.knowledge_id, k.text, d.knowledge_type, d.equipment_id, d.event_date,
       d.authority, d.source_reference, d.title, k.heading_path, k.page_number, k.char_start, k.char_end,
       k.ordinal, k.page_index, k.section_starts, k.section_names,
       CASE WHEN k.ordinal BETWEEN 0 AND length(d.chunk_digests) / 32 - 1
            THEN substring(d.chunk_digests FROM k.ordinal * 32 + 1 FOR 32) END AS digest,
       least(k.embedding <=> %(vector)s::vector,
             (SELECT min(k.embedding <=> other) FROM unnest(%(others)s::text[]::vector[]) AS other)) AS distance,
       k.embedding <=> %(vector)s::vector AS own_distance,
       CASE WHEN cardinality(%(lexemes)s::text[]) > 0
            THEN ARRAY(SELECT lexeme FROM unnest(tsvector_to_array(k.search)) AS lexeme
                       WHERE lexeme = ANY(%(lexemes)s::text[])) END AS held
FROM chunks k
CROSS JOIN LATERAL (SELECT * FROM documents WHERE documents.document_id = k.document_id OFFSET 0) AS d
WHERE k.collection_id = %(collection_id)s AND k.chunk_id = ANY(%(chunk_ids)s)
  AND (%(documents)s::bigint[] IS NULL OR k.document_id = ANY(%(documents)s))

-- name: neighbours
-- Returns the chunks around the selected ones, in the order of the selected ones, nearest first.
SELECT n.chunk_id
FROM unnest(%(chunk_ids)s::text[]) WITH ORDINALITY AS chosen (chunk_id, rank)
JOIN chunks k ON k.collection_id = %(collection_id)s AND k.chunk_id = chosen.chunk_id
JOIN chunks n ON n.document_id = k.document_id AND n.ordinal BETWEEN k.ordinal - %(reach)s AND k.ordinal + %(reach)s
WHERE n.chunk_id <> ALL(%(chunk_ids)s)
ORDER BY chosen.rank, abs(n.ordinal - k.ordinal), n.ordinal

-- name: candidate_distances
-- Returns the distance of each given chunk to the nearest of the searches.
SELECT k.chunk_id, (SELECT min(k.embedding <=> search) FROM unnest(%(vectors)s::text[]::vector[]) AS search) AS distance
FROM chunks k
WHERE k.collection_id = %(collection_id)s AND k.chunk_id = ANY(%(chunk_ids)s)

-- name: pair_distances
SELECT a.chunk_id AS first, b.chunk_id AS second, a.embedding <=> b.embedding AS distance
FROM chunks a JOIN chunks b ON b.collection_id = a.collection_id AND a.chunk_id < b.chunk_id
WHERE a.collection_id = %(collection_id)s AND a.chunk_id = ANY(%(chunk_ids)s) AND b.chunk_id = ANY(%(chunk_ids)s)

-- name: count_candidates
-- Counts the chunks that pass the filters, up to the limit.
SELECT count(*) AS chunks
FROM (SELECT FROM chunks k
      WHERE k.collection_id = %(collection_id)s
        AND (%(documents)s::bigint[] IS NULL OR k.document_id = ANY(%(documents)s))
      LIMIT %(limit)s) AS found

-- name: open_run
-- Registers a run before its first checkpoint. The commit of that checkpoint also flushes this one to disk. The id of a
-- run with a checkpoint is taken. A run without any starts again unless a process holds it.
WITH durability AS (SELECT set_config('synchronous_commit', 'off', true)),
opened AS (
    INSERT INTO runs (run_id, request_id, thread_id, collection, model, status, started_at, context, worker,
                      caller_labels)
    SELECT %(run_id)s, %(request_id)s, %(run_id)s, %(collection)s, %(model)s, 'RUNNING', now(), %(context)s::json,
           %(worker)s, %(caller_labels)s::text[]
    FROM durability
    WHERE NOT EXISTS (SELECT FROM checkpoints WHERE thread_id = %(run_id)s)
    ON CONFLICT (run_id) DO UPDATE
    SET request_id = excluded.request_id, collection = excluded.collection, model = excluded.model,
        started_at = excluded.started_at, context = excluded.context, worker = excluded.worker,
        policy_version = NULL, conversation_id = NULL, ordinal = NULL, caller_labels = excluded.caller_labels
    WHERE runs.status = 'RUNNING' AND runs.thread_id = excluded.thread_id AND runs.erased_at IS NULL
      AND NOT is_lease_active(runs.worker)
    RETURNING run_id
),
earlier_turn_gone AS (DELETE FROM turn_texts WHERE run_id IN (SELECT run_id FROM opened))
SELECT run_id FROM opened

-- name: begin_run
-- Stores the settings that `accept` resolved. The commit waits for the disk if the run was opened by another host, and
-- if the run has a position in a conversation, because other runs depend on it.
WITH durability AS (
    SELECT CASE WHEN %(conversation_id)s::text IS NULL AND EXISTS (SELECT FROM runs WHERE run_id = %(run_id)s)
                THEN set_config('synchronous_commit', 'off', true) END
)
INSERT INTO runs (run_id, request_id, thread_id, collection, policy_version, model, status, started_at,
                  caller_labels, conversation_id, ordinal)
SELECT %(run_id)s, %(request_id)s, %(thread_id)s, %(collection)s, %(policy_version)s, %(model)s, 'RUNNING',
       %(started_at)s, %(caller_labels)s::text[], %(conversation_id)s,
       CASE WHEN %(conversation_id)s::text IS NOT NULL
            THEN (SELECT coalesce(max(ordinal), 0) + 1 FROM runs WHERE conversation_id = %(conversation_id)s) END
FROM durability
ON CONFLICT (run_id) DO UPDATE
SET policy_version = excluded.policy_version, collection = excluded.collection, model = excluded.model,
    started_at = excluded.started_at, caller_labels = excluded.caller_labels,
    conversation_id = excluded.conversation_id, ordinal = excluded.ordinal
WHERE runs.policy_version IS NULL

-- name: hold_lease
-- Acquires or renews a lease. No commit waits for the disk: a lease that a crashed database has lost is acquired again.
-- Also deletes leases that expired long ago; a locked row is skipped, so that two processes never deadlock.
WITH durability AS (SELECT set_config('synchronous_commit', 'off', true)),
forgotten AS (
    DELETE FROM leases WHERE lease_id IN (
        SELECT lease_id FROM leases
        WHERE expires_at < clock_timestamp() - interval '1 hour' AND lease_id <> %(lease_id)s FOR UPDATE SKIP LOCKED)
)
INSERT INTO leases (lease_id, expires_at, host, pid, started)
SELECT %(lease_id)s, clock_timestamp() + make_interval(secs => %(seconds)s), %(host)s, %(pid)s, %(started)s
FROM durability
ON CONFLICT (lease_id) DO UPDATE SET expires_at = excluded.expires_at

-- name: end_leases
WITH durability AS (SELECT set_config('synchronous_commit', 'off', true))
DELETE FROM leases WHERE lease_id IN (
    SELECT lease_id FROM leases, durability WHERE lease_id = ANY(%(lease_ids)s) ORDER BY lease_id FOR UPDATE OF leases)

-- name: leases_of_host
SELECT lease_id, pid, started FROM leases WHERE host = %(host)s AND expires_at > clock_timestamp()

-- name: run_holder
SELECT erased_at IS NOT NULL AS erased, coalesce(worker = ANY(%(workers)s::bigint[]), false) AS held
FROM runs WHERE run_id = %(run_id)s

-- name: claim_run
-- A second process waits for the first, finds the run held and gets no row. A run that another host began has no
-- context and is not claimed.
UPDATE runs SET worker = %(worker)s
WHERE run_id = %(run_id)s AND context IS NOT NULL
  AND erased_at IS NULL AND pruned_at IS NULL AND NOT is_lease_active(worker)
RETURNING thread_id, context

-- name: renumber_runs
-- Without a worker number, the runs are released.
UPDATE runs SET worker = %(worker)s WHERE run_id = ANY(%(run_ids)s) AND worker = ANY(%(workers)s)

-- name: cut_off_runs
-- Returns interrupted runs, oldest first: begun here, without a stored response, and held by no process.
SELECT run_id FROM runs
WHERE context IS NOT NULL AND erased_at IS NULL AND NOT is_lease_active(worker)
ORDER BY started_at, run_id

-- name: run_place
SELECT thread_id, (context IS NOT NULL OR status = 'RUNNING') AND is_lease_active(worker) AS at_work,
       context IS NULL AND status = 'RUNNING' AND erased_at IS NULL AND pruned_at IS NULL AS of_another_host
FROM runs WHERE run_id = %(run_id)s

-- name: withdraw_run
-- Deletes a run of this process that did not produce anything, with all its data. Its id becomes free.
WITH gone AS (
    DELETE FROM runs
    WHERE run_id = %(run_id)s AND status = 'RUNNING' AND erased_at IS NULL AND worker = ANY(%(workers)s)
    RETURNING run_id
),
answers_gone AS (DELETE FROM model_answers WHERE run_id IN (SELECT run_id FROM gone)),
turn_gone AS (DELETE FROM turn_texts WHERE run_id IN (SELECT run_id FROM gone)),
values_gone AS (DELETE FROM checkpoint_blobs WHERE thread_id IN (SELECT run_id FROM gone)),
writes_gone AS (DELETE FROM checkpoint_writes WHERE thread_id IN (SELECT run_id FROM gone)),
states_gone AS (DELETE FROM checkpoints WHERE thread_id IN (SELECT run_id FROM gone))
SELECT run_id FROM gone

-- name: find_answer
SELECT generation FROM model_answers
WHERE run_id = %(run_id)s AND attempt = %(attempt)s AND prompt_sha256 = %(prompt_sha256)s

-- name: keep_answer
-- Keeps the first answer. The update changes nothing, but returns the existing row. Stores no answer of an erased run.
-- The row of the run is locked until the commit, so that an erasure finds the answer.
WITH run AS (SELECT erased_at FROM runs WHERE run_id = %(run_id)s FOR SHARE)
INSERT INTO model_answers (run_id, attempt, prompt_sha256, request_sha256, generation)
SELECT %(run_id)s, %(attempt)s, %(prompt_sha256)s, %(request_sha256)s, %(generation)s::json
WHERE NOT EXISTS (SELECT FROM run WHERE erased_at IS NOT NULL)
ON CONFLICT (run_id, attempt, prompt_sha256) DO UPDATE SET attempt = excluded.attempt
RETURNING generation

-- name: begin_turn
WITH run AS (SELECT erased_at FROM runs WHERE run_id = %(run_id)s FOR SHARE)
INSERT INTO turn_texts (run_id, question)
SELECT %(run_id)s, %(question)s
WHERE NOT EXISTS (SELECT FROM run WHERE erased_at IS NOT NULL)
ON CONFLICT (run_id) DO NOTHING

-- name: start_conversation
INSERT INTO conversations (conversation_id) VALUES (%(conversation_id)s)
ON CONFLICT (conversation_id) DO NOTHING

-- name: find_conversation
SELECT conversation_id FROM conversations WHERE conversation_id = %(conversation_id)s

-- name: lock_conversation
SELECT conversation_id FROM conversations WHERE conversation_id = %(conversation_id)s FOR UPDATE

-- name: earlier_turns
-- Returns the turns before a run, or all turns, latest first.
SELECT r.run_id, r.thread_id, r.ordinal, r.status, t.question, t.search_query
FROM runs r LEFT JOIN turn_texts t USING (run_id)
WHERE r.conversation_id = %(conversation_id)s
  AND (%(run_id)s::text IS NULL OR r.ordinal < (SELECT own.ordinal FROM runs own WHERE own.run_id = %(run_id)s))
ORDER BY r.ordinal DESC
LIMIT %(limit)s

-- name: keep_search_query
UPDATE turn_texts SET search_query = %(search_query)s WHERE run_id = %(run_id)s

-- name: find_ended_run
SELECT status FROM runs WHERE run_id = %(run_id)s AND status <> 'RUNNING'

-- name: end_unfinished_runs
-- Ends the runs of a thread that have no record: another run began on it, or their host cancelled them.
UPDATE runs SET status = %(status)s, finished_at = now()
WHERE thread_id = %(thread_id)s AND run_id IS DISTINCT FROM %(replaced_by)s AND status = 'RUNNING' AND context IS NULL
  AND NOT EXISTS (SELECT FROM validations v WHERE v.request_id = runs.request_id AND v.run_id = runs.run_id)
RETURNING run_id

-- name: start_of_work
-- Returns a checkpoint and its ancestors, the latest first, back to the last one that is neither an edit nor a branch.
-- Before the first node, the step that takes over the input is passed over.
WITH RECURSIVE steps AS (
    SELECT checkpoint_id, parent_checkpoint_id, metadata->>'source' AS source, checkpoint->'channel_versions' AS versions,
           0 AS distance
    FROM checkpoints
    WHERE thread_id = %(thread_id)s AND checkpoint_ns = '' AND checkpoint_id = %(checkpoint_id)s
    UNION ALL
    SELECT c.checkpoint_id, c.parent_checkpoint_id, c.metadata->>'source', c.checkpoint->'channel_versions', distance + 1
    FROM checkpoints c JOIN steps s ON c.checkpoint_id = s.parent_checkpoint_id
    WHERE c.thread_id = %(thread_id)s AND c.checkpoint_ns = ''
      AND (s.source IN ('update', 'fork') OR (s.source = 'loop' AND s.distance = 0 AND %(is_first)s))
)
SELECT source, versions FROM steps ORDER BY distance

-- name: close_unrecorded_run
-- Ends a run without an audit record as failed, because it released nothing. A run with a record keeps its end, and so
-- does a run that is not held by one of `workers`.
UPDATE runs
SET status = 'FAILED', reason = %(reason)s, finished_at = now(),
    policy_version = coalesce(policy_version, %(policy_version)s)
WHERE run_id = %(run_id)s AND status = 'RUNNING'
  AND (%(workers)s::bigint[] IS NULL OR worker = ANY(%(workers)s::bigint[]))

-- name: list_runs
SELECT r.run_id, r.request_id, r.thread_id, r.collection, r.policy_version, r.model, r.status, r.reason, r.started_at,
       r.finished_at, r.pruned_at, r.erased_at, t.question, r.caller_labels
FROM runs r LEFT JOIN run_texts t ON t.run_id = r.run_id AND t.attempt = 1
ORDER BY r.started_at DESC, r.run_id DESC
LIMIT %(limit)s

-- name: find_runs
SELECT r.run_id, r.request_id, r.thread_id, r.collection, r.policy_version, r.model, r.status, r.reason, r.started_at,
       r.finished_at, r.pruned_at, r.erased_at, t.question, r.caller_labels
FROM runs r LEFT JOIN run_texts t ON t.run_id = r.run_id AND t.attempt = 1
WHERE starts_with(r.run_id, %(prefix)s) OR r.request_id = %(prefix)s
ORDER BY r.started_at DESC, r.run_id DESC
LIMIT 2

-- name: find_run
SELECT r.run_id, r.request_id, r.thread_id, r.collection, r.policy_version, r.model, r.status, r.reason, r.started_at,
       r.finished_at, r.pruned_at, r.erased_at, t.question, r.caller_labels
FROM runs r LEFT JOIN run_texts t ON t.run_id = r.run_id AND t.attempt = 1
WHERE r.run_id = %(run_id)s

-- name: list_forks
SELECT r.run_id
FROM runs r
WHERE r.request_id = %(request_id)s AND EXISTS (SELECT FROM run_texts t WHERE t.run_id = r.run_id)
ORDER BY r.started_at, r.run_id

-- name: append_validation
-- Appends a record to the chain, with the run's texts and its end: all of it or nothing. It appends nothing if the
-- chain no longer ends where its writer expects, if the record exists already, or if the run is not held by one of
-- `workers` (by any host where there are none). Concurrent appends wait for each other.
WITH run AS (SELECT erased_at, worker FROM runs WHERE run_id = %(run_id)s FOR SHARE),
tried AS MATERIALIZED (
    SELECT append_validation(%(record)s::json) AS position
    WHERE %(workers)s::bigint[] IS NULL
       OR EXISTS (SELECT FROM run WHERE worker = ANY(%(workers)s::bigint[]) AND erased_at IS NULL)
),
head AS (SELECT position FROM tried WHERE position IS NOT NULL),
texts AS (
    INSERT INTO run_texts (run_id, attempt, question, raw_model_text, validated_answer_text, salt)
    SELECT %(run_id)s, %(attempt)s, %(question)s, %(raw_model_text)s, %(validated_answer_text)s, %(salt)s
    FROM head
    WHERE NOT EXISTS (SELECT FROM run WHERE erased_at IS NOT NULL)
    ON CONFLICT (run_id, attempt) DO NOTHING
),
ended AS (
    UPDATE runs
    SET status = %(status)s, reason = %(reason)s, finished_at = now(),
        policy_version = coalesce(runs.policy_version, %(policy_version)s)
    FROM head
    WHERE run_id = %(run_id)s AND (status, reason) IS DISTINCT FROM (%(status)s::text, %(reason)s::text)
)
SELECT set_config('sourcebound.recorded', position::text, true) FROM head

-- name: read_validations
-- Returns records with their position in the chain: one run's, or those after a position. The time has its hashed form.
SELECT position, previous_hash, row_hash, request_id, run_id, thread_id, attempt,
    to_char(timestamp_utc AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"') AS timestamp_utc,
    generation_status, validation_status, failure_reason, refusal_code,
    refusal_source, citation_count, uncited_sentence_count, invalid_anchor_count, malformed_anchor_count,
    refusal_detected, length_ratio_flag, suspicious_new_ids, sentence_count, attribution_coverage,
    unsupported_literal_count, validated_citations, model_name, response_id, prompt_sha256, retrieval_latency_ms,
    llm_latency_ms, prompt_tokens, completion_tokens, total_tokens, embedding_model, index_version, policy_version,
    policy_sha256, support_level, run_digest, question_digest, raw_text_digest, answer_digest, evidence_digest,
    generation_digest, evidence_supplied_by_hand
FROM validations
WHERE (%(prefix)s::text IS NULL OR starts_with(run_id, %(prefix)s) OR request_id = %(prefix)s)
  AND (%(after)s::bigint IS NULL OR position > %(after)s)
  AND (%(since)s::timestamptz IS NULL OR timestamp_utc >= %(since)s)
ORDER BY position, run_id, attempt

-- name: hashes_at
SELECT position, row_hash FROM validations WHERE position = ANY(%(positions)s)

-- name: records_without_run
SELECT DISTINCT v.run_id FROM validations v
WHERE NOT EXISTS (SELECT FROM runs r WHERE r.run_id = v.run_id)
ORDER BY v.run_id

-- name: find_validation
SELECT request_id, run_id, thread_id, attempt, to_char(timestamp_utc AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"') AS timestamp_utc,
    generation_status, validation_status, failure_reason, refusal_code,
    refusal_source, citation_count, uncited_sentence_count, invalid_anchor_count, malformed_anchor_count,
    refusal_detected, length_ratio_flag, suspicious_new_ids, sentence_count, attribution_coverage,
    unsupported_literal_count, validated_citations, model_name, response_id, prompt_sha256, retrieval_latency_ms,
    llm_latency_ms, prompt_tokens, completion_tokens, total_tokens, embedding_model, index_version, policy_version,
    policy_sha256, support_level, run_digest, question_digest, raw_text_digest, answer_digest, evidence_digest,
    generation_digest, evidence_supplied_by_hand
FROM validations
WHERE request_id = %(request_id)s AND run_id = %(run_id)s AND attempt = %(attempt)s

-- name: lock_audit_head
SELECT position, row_hash FROM lock_audit_head()

-- name: read_audit_head
-- Returns the expected end of the chain, and the number of records without a position in it.
SELECT position, row_hash, unchained,
       (SELECT count(*) FROM validations v WHERE v.position IS NULL OR v.position < 1) AS unplaced
FROM audit_head

-- name: lock_runs_of_thread
-- No process can claim one of these runs or save any of their data before the transaction ends.
SELECT run_id, pruned_at IS NULL AND erased_at IS NULL AS whole,
       (context IS NOT NULL OR status = 'RUNNING') AND is_lease_active(worker) AS at_work
FROM runs WHERE thread_id = %(thread_id)s ORDER BY started_at FOR UPDATE

-- name: erase_runs
SELECT erase_runs(%(run_ids)s::text[]) AS erased

-- name: count_runs
SELECT count(*) AS runs FROM runs WHERE %(since)s::timestamptz IS NULL OR started_at >= %(since)s

-- name: page_runs
-- Returns a page of runs, oldest first, after the last run of the previous page.
SELECT r.run_id, r.request_id, r.thread_id, r.collection, r.policy_version, r.model, r.status, r.reason, r.started_at,
       r.finished_at, r.pruned_at, r.erased_at, t.question, r.caller_labels
FROM runs r LEFT JOIN run_texts t ON t.run_id = r.run_id AND t.attempt = 1
WHERE (%(since)s::timestamptz IS NULL OR r.started_at >= %(since)s)
  AND (%(started_at)s::timestamptz IS NULL OR (r.started_at, r.run_id) > (%(started_at)s, %(run_id)s))
ORDER BY r.started_at, r.run_id
LIMIT %(limit)s

-- name: read_checkpoints
SELECT thread_id, checkpoint_id, parent_checkpoint_id, checkpoint, metadata
FROM checkpoints
WHERE checkpoint_ns = '' AND thread_id = ANY(%(threads)s)
ORDER BY thread_id, checkpoint_id

-- name: read_checkpoint_values
SELECT thread_id, channel, version, type, blob
FROM checkpoint_blobs
WHERE checkpoint_ns = '' AND thread_id = ANY(%(threads)s)

-- name: read_validations_of
-- Returns the records of some runs, in the form of `read_validations`. The request ids make the index usable.
SELECT position, previous_hash, row_hash, request_id, run_id, thread_id, attempt,
    to_char(timestamp_utc AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"') AS timestamp_utc,
    generation_status, validation_status, failure_reason, refusal_code,
    refusal_source, citation_count, uncited_sentence_count, invalid_anchor_count, malformed_anchor_count,
    refusal_detected, length_ratio_flag, suspicious_new_ids, sentence_count, attribution_coverage,
    unsupported_literal_count, validated_citations, model_name, response_id, prompt_sha256, retrieval_latency_ms,
    llm_latency_ms, prompt_tokens, completion_tokens, total_tokens, embedding_model, index_version, policy_version,
    policy_sha256, support_level, run_digest, question_digest, raw_text_digest, answer_digest, evidence_digest,
    generation_digest, evidence_supplied_by_hand
FROM validations
WHERE request_id = ANY(%(requests)s) AND run_id = ANY(%(runs)s)
ORDER BY run_id, attempt

-- name: read_run_texts
SELECT run_id, attempt, question, raw_model_text, validated_answer_text, salt
FROM run_texts
WHERE run_id = ANY(%(runs)s)
ORDER BY run_id, attempt

-- name: read_removals_of
SELECT run_id, kind FROM removals WHERE run_id = ANY(%(runs)s)

-- name: read_answers_of
SELECT run_id, attempt, prompt_sha256, generation FROM model_answers WHERE run_id = ANY(%(runs)s)

-- name: read_turns_of
SELECT r.run_id, r.conversation_id, t.question, t.search_query
FROM runs r LEFT JOIN turn_texts t USING (run_id)
WHERE r.run_id = ANY(%(runs)s) AND (r.conversation_id IS NOT NULL OR t.run_id IS NOT NULL)

-- name: read_removals
-- The time has its hashed form.
SELECT position, run_id, kind,
       to_char(removed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"') AS removed_at, previous_hash, row_hash
FROM removals
ORDER BY position

-- name: find_erased_checkpoint
-- Returns a row if a checkpoint is missing because its thread was erased.
SELECT run_id FROM runs
WHERE thread_id = %(thread_id)s AND erased_at IS NOT NULL AND NOT EXISTS (
    SELECT FROM checkpoints c
    WHERE c.thread_id = %(thread_id)s AND c.checkpoint_ns = %(checkpoint_ns)s AND c.checkpoint_id = %(checkpoint_id)s)
LIMIT 1

-- name: gone_thread
-- Returns the run whose checkpoints were removed from a thread, if there is one.
SELECT run_id, pruned_at, erased_at
FROM runs
WHERE thread_id = %(thread_id)s AND (%(run_id)s::text IS NULL OR run_id = %(run_id)s)
  AND (pruned_at IS NOT NULL OR erased_at IS NOT NULL)
ORDER BY started_at DESC, run_id DESC
LIMIT 1

-- name: prunable_threads
-- Returns the threads with checkpoints whose runs all ended long enough ago, except the threads of the newest runs. A
-- run with a context still waits for its response. Only `threads` are considered, if given.
WITH newest AS MATERIALIZED (
    SELECT thread_id FROM runs WHERE status <> 'RUNNING' ORDER BY started_at DESC, run_id DESC LIMIT %(keep)s
)
SELECT r.thread_id
FROM runs r
WHERE %(threads)s::text[] IS NULL OR r.thread_id = ANY(%(threads)s)
GROUP BY r.thread_id
HAVING bool_and(r.status <> 'RUNNING' AND r.context IS NULL AND coalesce(r.finished_at < now() - %(age)s::interval, false))
   AND NOT EXISTS (SELECT FROM newest n WHERE n.thread_id = r.thread_id)
   AND EXISTS (SELECT FROM checkpoints c WHERE c.thread_id = r.thread_id)
ORDER BY r.thread_id

-- name: count_unfinished
SELECT count(*) AS runs FROM runs WHERE (status = 'RUNNING' OR context IS NOT NULL) AND started_at < now() - %(age)s::interval

-- name: measure_checkpoints
SELECT (SELECT coalesce(sum(pg_column_size(blob)), 0) FROM checkpoint_writes WHERE thread_id = ANY(%(threads)s))::bigint
     + (SELECT coalesce(sum(pg_column_size(blob)), 0) FROM checkpoint_blobs WHERE thread_id = ANY(%(threads)s))::bigint
     + (SELECT coalesce(sum(pg_column_size(checkpoint) + pg_column_size(metadata)), 0)
        FROM checkpoints WHERE thread_id = ANY(%(threads)s))::bigint AS bytes

-- name: removal_turn
-- Processes that remove checkpoints take turns, so that two of them never deadlock.
SELECT pg_advisory_xact_lock(91738176906086)

-- name: remove_checkpoints
-- Also removes the model's answers, which are needed only to resume from the checkpoints.
WITH answers AS (
    DELETE FROM model_answers WHERE run_id IN (SELECT run_id FROM runs WHERE thread_id = ANY(%(threads)s))
), writes AS (
    DELETE FROM checkpoint_writes WHERE thread_id = ANY(%(threads)s) RETURNING pg_column_size(blob) AS bytes
), blobs AS (
    DELETE FROM checkpoint_blobs WHERE thread_id = ANY(%(threads)s) RETURNING pg_column_size(blob) AS bytes
), states AS (
    DELETE FROM checkpoints WHERE thread_id = ANY(%(threads)s)
    RETURNING pg_column_size(checkpoint) + pg_column_size(metadata) AS bytes
)
SELECT count(*) AS rows, coalesce(sum(bytes), 0)::bigint AS bytes
FROM (SELECT bytes FROM writes UNION ALL SELECT bytes FROM blobs UNION ALL SELECT bytes FROM states) AS removed

-- name: remove_checkpoints_of_host_runs
-- Deletes a value if no remaining checkpoint names its version. A run that ended in these checkpoints is pruned.
WITH turn AS MATERIALIZED (SELECT pg_advisory_xact_lock(91738176906086)),
gone AS (
    DELETE FROM checkpoints WHERE metadata ->> 'run_id' = ANY(%(run_ids)s) AND EXISTS (SELECT FROM turn)
    RETURNING thread_id, checkpoint_ns, checkpoint_id, (checkpoint ->> 'ts')::timestamptz AS made_at
), pruned AS MATERIALIZED (
    SELECT prune_runs(ARRAY(
        SELECT r.run_id
        FROM runs r JOIN (SELECT thread_id, min(made_at) AS made_at FROM gone GROUP BY thread_id) first USING (thread_id)
        WHERE r.started_at >= first.made_at AND r.status <> 'RUNNING'
        ORDER BY r.run_id)) AS runs
), writes AS (
    DELETE FROM checkpoint_writes w USING gone g
    WHERE (w.thread_id, w.checkpoint_ns, w.checkpoint_id) = (g.thread_id, g.checkpoint_ns, g.checkpoint_id)
), blobs AS (
    DELETE FROM checkpoint_blobs b
    WHERE thread_id IN (SELECT thread_id FROM gone)
      AND NOT EXISTS (
          SELECT FROM checkpoints c
          WHERE c.thread_id = b.thread_id AND c.checkpoint_ns = b.checkpoint_ns
            AND c.checkpoint -> 'channel_versions' ->> b.channel = b.version
            AND NOT coalesce(c.metadata ->> 'run_id' = ANY(%(run_ids)s), false))
)
SELECT count(*) AS checkpoints, (SELECT runs FROM pruned) AS runs FROM gone

-- name: mark_pruned
SELECT prune_runs(ARRAY(SELECT run_id FROM runs WHERE thread_id = ANY(%(threads)s) ORDER BY run_id))

-- name: storage_sizes
-- Returns sizes on disk, with indexes. Every table outside runs, checkpoints and audit belongs to the collections.
WITH tables AS (
    SELECT pg_total_relation_size(c.oid) AS bytes,
           CASE WHEN c.relname IN ('runs', 'run_texts', 'turn_texts', 'conversations', 'model_answers', 'leases')
                THEN 'runs'
                WHEN starts_with(c.relname, 'checkpoint') THEN 'checkpoints'
                WHEN c.relname IN ('validations', 'audit_head', 'removals') THEN 'audit'
                ELSE 'collections' END AS purpose
    FROM pg_class c
    WHERE c.relkind = 'r' AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'runs'::regclass)
)
SELECT coalesce(sum(bytes) FILTER (WHERE purpose = 'runs'), 0)::bigint AS runs,
       coalesce(sum(bytes) FILTER (WHERE purpose = 'checkpoints'), 0)::bigint AS checkpoints,
       coalesce(sum(bytes) FILTER (WHERE purpose = 'collections'), 0)::bigint AS collections,
       coalesce(sum(bytes) FILTER (WHERE purpose = 'audit'), 0)::bigint AS audit,
       (SELECT count(*) FROM runs) AS listed,
       (SELECT count(*) FROM runs WHERE pruned_at IS NULL AND erased_at IS NULL) AS whole,
       (SELECT count(*) FROM validations) AS records
FROM tables

-- name: document_labels
SELECT d.labels
FROM documents d JOIN collections c USING (collection_id)
WHERE c.name = %(collection)s AND d.knowledge_id = %(knowledge_id)s

-- name: hidden_documents
-- Returns those of the given documents that a caller with these labels may not read.
SELECT d.knowledge_id
FROM documents d JOIN collections c USING (collection_id)
WHERE c.name = %(collection)s AND d.knowledge_id = ANY(%(knowledge_ids)s) AND NOT d.labels <@ %(labels)s

-- name: insert_certificate
INSERT INTO model_certificates (model, policy_version, certified_at, certificate)
VALUES (%(model)s, %(policy_version)s, %(certified_at)s, %(certificate)s::json)

-- name: list_certificates
-- Returns the certificates of one model or of all models, newest first.
SELECT certificate
FROM model_certificates
WHERE %(model)s::text IS NULL OR model = %(model)s
ORDER BY certificate_id DESC
LIMIT %(limit)s

-- name: latest_certificates
-- Returns the newest certificate of each model.
SELECT DISTINCT ON (model) certificate
FROM model_certificates
ORDER BY model, certificate_id DESC

-- name: save_checkpoints
-- Saves the checkpoints of one thread in order, with their values, in one statement. The response ends a run. A run
-- that has no audit record by then has failed for that reason. Nothing is saved of a run that is not held by one of
-- `workers` (by any host where there are none), nor of an erased run, nor of a thread that lost its checkpoints by an
-- erasure. A process that claims or erases the run waits for the lock on its row and finds these checkpoints. Otherwise
-- these wait and are not saved. A checkpoint that belongs to a record is saved only if this transaction has written the
-- record to its position in the chain.
WITH durability AS (SELECT CASE WHEN %(lazy)s THEN set_config('synchronous_commit', 'off', true) END),
run AS (
    SELECT erased_at IS NOT NULL AS erased,
           %(workers)s::bigint[] IS NULL OR coalesce(worker = ANY(%(workers)s::bigint[]), false) AS held
    FROM runs WHERE run_id = %(run_id)s FOR SHARE
),
parent AS (
    SELECT %(parent)s::text IS NULL OR EXISTS (
        SELECT FROM checkpoints c
        WHERE c.thread_id = %(thread_id)s AND c.checkpoint_ns = %(namespace)s AND c.checkpoint_id = %(parent)s) AS there
    FROM durability
),
found AS (
    SELECT EXISTS (SELECT FROM run) OR %(workers)s::bigint[] IS NULL AS listed,
           coalesce((SELECT held FROM run), %(workers)s::bigint[] IS NULL) AS held,
           coalesce((SELECT erased FROM run), false) OR (
               NOT there AND EXISTS (SELECT FROM runs WHERE thread_id = %(thread_id)s AND erased_at IS NOT NULL)) AS erased,
           there AS follows,
           %(position)s::text IS NULL
               OR coalesce(current_setting('sourcebound.recorded', true), '') = %(position)s AS recorded
    FROM parent
),
allowed AS (SELECT FROM found WHERE held AND NOT erased AND recorded),
blobs AS (
    INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    SELECT %(thread_id)s, %(namespace)s, new.*
    FROM allowed, unnest(%(channels)s::text[], %(versions)s::text[], %(types)s::text[], %(blobs)b::bytea[]) AS new
    ON CONFLICT (thread_id, checkpoint_ns, channel, version) DO NOTHING
),
over AS (
    UPDATE runs
    SET context = NULL, finished_at = coalesce(finished_at, now()),
        reason = CASE status WHEN 'RUNNING' THEN 'AUDIT_UNAVAILABLE' ELSE reason END,
        status = CASE status WHEN 'RUNNING' THEN 'FAILED' ELSE status END
    FROM allowed
    WHERE run_id = %(over)s AND context IS NOT NULL
),
saved AS (
    INSERT INTO checkpoints
        (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
    SELECT %(thread_id)s, %(namespace)s, page.id, page.parent, page.checkpoint, page.metadata
    FROM allowed,
         json_to_recordset(%(pages)s::json) AS page (id text, parent text, checkpoint jsonb, metadata jsonb)
    ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id)
        DO UPDATE SET checkpoint = EXCLUDED.checkpoint, metadata = EXCLUDED.metadata
)
SELECT listed, held, erased, follows, recorded FROM found

-- name: contents_documents
-- Returns documents to check. A date is text, because no date of the database may stop the check.
SELECT document_id, knowledge_id, title, source_reference, to_char(event_date, 'YYYY-MM-DD') AS event_date,
       equipment_id, knowledge_type, authority, source_digest, chunk_digests, contents_digest, file_sha256
FROM documents
WHERE document_id = ANY(%(document_ids)s)
ORDER BY knowledge_id

-- name: contents_file
SELECT d.knowledge_id, d.source_digest, d.digest_suffix, f.sha256, f.content
FROM documents d LEFT JOIN source_files f ON f.sha256 = d.file_sha256
WHERE d.document_id = %(document_id)s

-- name: contents_pages
SELECT document_id, page_index, page_number, text FROM pages WHERE document_id = ANY(%(document_ids)s)

-- name: contents_chunks
SELECT document_id, chunk_no, chunk_id, ordinal, page_index, page_number, char_start, char_end, heading_path, text,
       section_starts, section_names
FROM chunks
WHERE collection_id = %(collection_id)s AND document_id = ANY(%(document_ids)s)
ORDER BY ordinal, chunk_id

-- name: contents_words
-- Returns the chunks whose search words are not those that `insert_staged_chunks` would compute.
SELECT k.chunk_id
FROM unnest(%(chunk_nos)s::integer[], %(joined)s::text[], %(contexts)s::text[]) AS own (chunk_no, joined, context)
JOIN chunks k USING (chunk_no)
JOIN collections c USING (collection_id)
WHERE k.search IS DISTINCT FROM setweight(search_words(c.language, concat_ws(' ', k.text, own.joined)), 'A')
                                || setweight(search_words(c.language, own.context), 'B')
ORDER BY k.chunk_id

-- name: contents_digests
SELECT document_id, contents_digest FROM documents WHERE collection_id = %(collection_id)s ORDER BY knowledge_id

-- name: contents_strays
SELECT k.chunk_id
FROM chunks k LEFT JOIN documents d USING (document_id)
WHERE k.collection_id = %(collection_id)s AND d.collection_id IS DISTINCT FROM k.collection_id
ORDER BY k.chunk_id

-- name: contents_vectors
-- Returns the chunks whose vectors do not have the collection's length, or that have a vector although it has none.
SELECT k.chunk_id, vector_dims(k.embedding) AS dimensions
FROM chunks k
WHERE k.collection_id = %(collection_id)s AND coalesce(vector_dims(k.embedding), 0) <> %(dimensions)s
ORDER BY k.chunk_id

-- name: contents_statistics
-- Returns the stored counts of a collection and the true ones.
SELECT coalesce(s.chunks, 0) AS chunks, coalesce(s.length, 0) AS length, coalesce(s.removed, 0) AS removed,
       counted.chunks AS true_chunks, counted.length AS true_length,
       (SELECT count(*) FROM removed_chunks r WHERE r.collection_id = c.collection_id) AS true_removed,
       c.documents, (SELECT count(*) FROM documents d WHERE d.collection_id = c.collection_id) AS true_documents
FROM collections c
LEFT JOIN lexical_statistics s USING (collection_id)
CROSS JOIN LATERAL (SELECT count(*) AS chunks, coalesce(sum(search_length(k.search)), 0)::bigint AS length
                    FROM chunks k WHERE k.collection_id = c.collection_id) AS counted
WHERE c.collection_id = %(collection_id)s

-- name: contents_postings
-- Returns each word with its stored postings, and with those of the chunks in the same form.
WITH expected AS (
    SELECT word.lexeme, count(*) AS chunks,
           string_agg(int8send((k.chunk_no::bigint << 32) | (k.length::bigint << 16) | cardinality(word.positions)),
                      ''::bytea) AS packed
    FROM (SELECT chunk_no, search, search_length(search) AS length
          FROM chunks WHERE collection_id = %(collection_id)s OFFSET 0) AS k
    CROSS JOIN unnest(k.search) AS word
    GROUP BY word.lexeme
), stored AS (
    SELECT l.lexeme, l.chunks,
           (SELECT string_agg(p.packed, ''::bytea)
            FROM posting_segments g JOIN postings p USING (segment)
            WHERE g.collection_id = %(collection_id)s AND p.lexeme_id = l.lexeme_id) AS packed
    FROM lexemes l WHERE l.collection_id = %(collection_id)s
)
SELECT lexeme, coalesce(stored.chunks, 0) AS chunks, stored.packed AS packed,
       coalesce(expected.chunks, 0) AS true_chunks, expected.packed AS true_packed
FROM stored FULL JOIN expected USING (lexeme)
ORDER BY lexeme

-- name: sample_chunks
SELECT chunk_id FROM chunks WHERE collection_id = %(collection_id)s ORDER BY random() LIMIT %(count)s

-- name: count_vectors
SELECT count(embedding) AS vectors FROM chunks WHERE collection_id = %(collection_id)s

-- name: schema_objects
-- Describes every object of the schema that holds `schema_migrations`, one line each: `store/schema/objects.txt` has those
-- that the migrations make. The source of a function is the same in all versions of PostgreSQL, its printed form is not.
WITH home AS (SELECT relnamespace AS namespace FROM pg_class WHERE oid = to_regclass('schema_migrations'))
SELECT 'table ' || c.relname AS object
FROM home JOIN pg_class c ON c.relnamespace = home.namespace WHERE c.relkind IN ('r', 'p')
UNION ALL
SELECT 'column ' || c.relname || '.' || a.attname || ' ' || y.typname
FROM home JOIN pg_class c ON c.relnamespace = home.namespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type y ON y.oid = a.atttypid
WHERE c.relkind IN ('r', 'p')
UNION ALL
SELECT 'index ' || c.relname || ' on ' || t.relname
FROM home JOIN pg_class c ON c.relnamespace = home.namespace
JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_class t ON t.oid = i.indrelid
WHERE i.indisvalid
UNION ALL
SELECT 'constraint ' || k.conname || ' on ' || c.relname
FROM home JOIN pg_class c ON c.relnamespace = home.namespace JOIN pg_constraint k ON k.conrelid = c.oid
WHERE k.contype IN ('c', 'f', 'p', 'u')
UNION ALL
SELECT 'trigger ' || t.tgname || ' on ' || c.relname || ' calls ' || p.proname
FROM home JOIN pg_class c ON c.relnamespace = home.namespace
JOIN pg_trigger t ON t.tgrelid = c.oid JOIN pg_proc p ON p.oid = t.tgfoid
WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')
UNION ALL
SELECT 'row security on ' || c.relname FROM home JOIN pg_class c ON c.relnamespace = home.namespace WHERE c.relrowsecurity
UNION ALL
SELECT 'policy ' || y.polname || ' on ' || c.relname
FROM home JOIN pg_class c ON c.relnamespace = home.namespace JOIN pg_policy y ON y.polrelid = c.oid
UNION ALL
SELECT 'function ' || p.proname || ' ' || left(encode(sha256(convert_to(p.prosrc, 'UTF8')), 'hex'), 16)
FROM home JOIN pg_proc p ON p.pronamespace = home.namespace
WHERE NOT EXISTS (SELECT FROM pg_depend e WHERE e.classid = 'pg_proc'::regclass AND e.objid = p.oid AND e.deptype = 'e')
ORDER BY object

-- name: runtime_roles
-- Returns the roles that may append to the chain without being the owner of its function.
SELECT pg_get_userbyid(grantee) AS role
FROM pg_proc p, aclexplode(p.proacl)
WHERE p.oid = to_regprocedure('append_validation(json)') AND grantee NOT IN (0, p.proowner)
ORDER BY role

-- name: find_role
SELECT r.rolsuper OR pg_has_role(r.oid, c.relowner, 'MEMBER') AS is_too_strong,
       pg_has_role(c.relowner, 'USAGE') AS is_granted_by_owner
FROM pg_roles r, pg_class c
WHERE r.rolname = %(role)s AND c.oid = 'validations'::regclass

-- name: find_excess
-- Returns a row if the role of this connection can change the audit chain other than by appending to it.
SELECT CASE WHEN r.rolsuper THEN 'a superuser'
            WHEN pg_has_role(r.oid, c.relowner, 'MEMBER') THEN 'the owner of the tables'
            ELSE 'a role that may change the audit chain' END AS excess
FROM pg_roles r, pg_class c
WHERE r.rolname = current_user AND c.oid = 'validations'::regclass
  AND (r.rolsuper OR pg_has_role(r.oid, c.relowner, 'MEMBER')
       OR has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER')
       OR has_table_privilege('audit_head', 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER')
       OR has_table_privilege('removals', 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER'))

-- name: insert_feedback
INSERT INTO feedback (feedback_id, run_id, rating, comment, caller)
VALUES (%(feedback_id)s, %(run_id)s, %(rating)s, %(comment)s, %(caller)s)
RETURNING given_at

-- name: list_feedback
SELECT feedback_id, rating, comment, given_at FROM feedback WHERE run_id = %(run_id)s ORDER BY given_at, feedback_id

-- name: latest_feedback
-- Returns the feedback on all runs, the newest first, with the question of each run.
SELECT f.feedback_id, f.rating, f.comment, f.given_at, f.run_id, r.status, t.question
FROM feedback f JOIN runs r USING (run_id) LEFT JOIN run_texts t ON t.run_id = r.run_id AND t.attempt = 1
WHERE %(rating)s::text IS NULL OR f.rating = %(rating)s
ORDER BY f.given_at DESC, f.feedback_id DESC LIMIT %(limit)s

-- name: access_of_conversation
-- Returns what a caller must be able to read: the collections and the labels of all runs of a conversation.
SELECT DISTINCT collection, caller_labels FROM runs WHERE conversation_id = %(conversation_id)s

-- name: chunk_place
-- Returns the page that holds a chunk, as it is stored now.
SELECT d.revision, d.media_type, k.text AS chunk_text, k.char_start, k.char_end, k.page_number,
       p.text AS page_text, d.file_sha256 IS NOT NULL AS has_image
FROM collections c
JOIN documents d USING (collection_id)
JOIN chunks k ON k.collection_id = c.collection_id AND k.document_id = d.document_id
JOIN pages p ON p.document_id = d.document_id AND p.page_index = k.page_index
WHERE c.name = %(collection)s AND d.knowledge_id = %(knowledge_id)s AND k.chunk_id = %(chunk_id)s

-- name: read_page
-- Returns a page by its number. The pages of a document without page numbers are counted from 1.
SELECT d.title, d.revision, d.source_reference, d.media_type, d.event_date, d.equipment_id,
       coalesce(p.page_number, p.page_index + 1) AS number, p.text,
       (SELECT count(*) FROM pages o WHERE o.document_id = d.document_id) AS pages,
       d.file_sha256 IS NOT NULL AS has_image
FROM collections c
JOIN documents d USING (collection_id)
JOIN pages p USING (document_id)
WHERE c.name = %(collection)s AND d.knowledge_id = %(knowledge_id)s
  AND coalesce(p.page_number, p.page_index + 1) = %(number)s
ORDER BY p.page_index
LIMIT 1

-- name: read_source_file
-- Returns the kept file of a document.
SELECT d.knowledge_id, d.source_digest, d.digest_suffix, f.sha256, f.content
FROM collections c
JOIN documents d USING (collection_id)
JOIN source_files f ON f.sha256 = d.file_sha256
WHERE c.name = %(collection)s AND d.knowledge_id = %(knowledge_id)s

-- name: insert_api_key
INSERT INTO api_keys (key_id, name, digest, scopes, collections, labels, expires_at)
VALUES (%(key_id)s, %(name)s, %(digest)s, %(scopes)s, %(collections)s, %(labels)s, %(expires_at)s)
RETURNING *

-- name: find_api_key
-- Returns one row: whether any key was ever made, and the key of that id, if there is one.
SELECT EXISTS (SELECT FROM api_keys) AS is_required, k.*
FROM (SELECT) AS always LEFT JOIN api_keys k ON k.key_id = %(key_id)s::text

-- name: list_api_keys
SELECT * FROM api_keys ORDER BY created_at, key_id

-- name: revoke_api_key
UPDATE api_keys SET revoked_at = coalesce(revoked_at, now()) WHERE key_id = %(key_id)s RETURNING *
