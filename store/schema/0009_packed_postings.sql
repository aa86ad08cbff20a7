-- Postings packed together, so that a question reads a few rows and the program adds them up (docs/decisions/0013).
--
-- The postings of the chunks that are written by one statement are a segment: one row a lexeme, eight bytes a chunk.
-- Segments are never changed; eight of one level are merged into one of the next, so that there are always few. Chunks
-- that are removed are listed until they are many, and then everything is packed anew.

DROP TABLE postings;

ALTER TABLE lexical_statistics ADD COLUMN removed bigint NOT NULL DEFAULT 0;  -- postings name so many chunks too many
ALTER TABLE lexemes SET (fillfactor = 60);       -- their counts are updated all the time

CREATE TABLE posting_segments (
    segment       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    collection_id bigint NOT NULL,
    level         integer NOT NULL
);

CREATE INDEX posting_segments_level ON posting_segments (collection_id, level);

CREATE TABLE postings (
    segment   integer NOT NULL,
    lexeme_id bigint NOT NULL,
    packed    bytea NOT NULL,                -- 8 bytes a chunk, high first: chunk_no 4, length 2, frequency 2
    PRIMARY KEY (segment, lexeme_id)
);

ALTER TABLE postings ALTER COLUMN packed SET STORAGE EXTERNAL;  -- numbers hardly compress

CREATE TABLE removed_chunks (
    collection_id bigint NOT NULL,
    chunk_no      integer NOT NULL,
    PRIMARY KEY (collection_id, chunk_no)
);

-- From documents to numbers and from numbers to ids without a look at the chunks themselves.
DROP INDEX chunks_document;
CREATE INDEX chunks_document ON chunks (document_id) INCLUDE (chunk_no);
ALTER TABLE chunks DROP CONSTRAINT chunks_chunk_no_key;
CREATE UNIQUE INDEX chunks_number ON chunks (chunk_no) INCLUDE (chunk_id);

CREATE FUNCTION forget_postings(gone integer[]) RETURNS void LANGUAGE sql AS $$
    DELETE FROM postings WHERE segment = ANY(gone);
    DELETE FROM posting_segments WHERE segment = ANY(gone);
$$;

-- Packs the postings of a collection anew, from its chunks.
CREATE FUNCTION pack_all_postings(wanted bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    fresh integer;
BEGIN
    PERFORM forget_postings(ARRAY(SELECT segment FROM posting_segments WHERE collection_id = wanted));
    DELETE FROM removed_chunks WHERE collection_id = wanted;
    UPDATE lexical_statistics SET removed = 0 WHERE collection_id = wanted;
    INSERT INTO posting_segments (collection_id, level) VALUES (wanted, 9) RETURNING segment INTO fresh;
    INSERT INTO postings (segment, lexeme_id, packed)
    SELECT fresh, l.lexeme_id,
           string_agg(int8send((a.chunk_no::bigint << 32) | (a.length::bigint << 16) | cardinality(word.positions)), '')
    FROM (SELECT chunk_no, search, search_length(search) AS length
          FROM chunks WHERE collection_id = wanted OFFSET 0) AS a
    CROSS JOIN unnest(a.search) AS word
    JOIN lexemes l ON l.collection_id = wanted AND l.lexeme = word.lexeme
    GROUP BY l.lexeme_id;
END $$;

-- Merges segments for as long as eight are of one level.
CREATE FUNCTION merge_postings(wanted bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    full_level integer;
    old        integer[];
    fresh      integer;
BEGIN
    LOOP
        SELECT level, array_agg(segment) INTO full_level, old
        FROM posting_segments WHERE collection_id = wanted AND level < 9
        GROUP BY level HAVING count(*) >= 8 ORDER BY level LIMIT 1;
        EXIT WHEN full_level IS NULL;
        INSERT INTO posting_segments (collection_id, level) VALUES (wanted, full_level + 1) RETURNING segment INTO fresh;
        INSERT INTO postings (segment, lexeme_id, packed)
        SELECT fresh, lexeme_id, string_agg(packed, '') FROM postings WHERE segment = ANY(old) GROUP BY lexeme_id
        ORDER BY lexeme_id;
        PERFORM forget_postings(old);
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION count_added_chunks() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    wanted bigint;
    fresh  integer;
BEGIN
    FOR wanted IN SELECT DISTINCT collection_id FROM added LOOP
        INSERT INTO lexical_statistics AS s (collection_id, chunks, length)
        SELECT wanted, count(*), sum(search_length(search)) FROM added WHERE collection_id = wanted
        ON CONFLICT (collection_id)
        DO UPDATE SET chunks = s.chunks + excluded.chunks, length = s.length + excluded.length;

        INSERT INTO posting_segments (collection_id, level) VALUES (wanted, 0) RETURNING segment INTO fresh;
        WITH found AS MATERIALIZED (
            SELECT word.lexeme, count(*) AS chunks,
                   string_agg(int8send((a.chunk_no::bigint << 32) | (a.length::bigint << 16) | cardinality(word.positions)),
                              '') AS packed
            FROM (SELECT chunk_no, search, search_length(search) AS length
                  FROM added WHERE collection_id = wanted OFFSET 0) AS a
            CROSS JOIN unnest(a.search) AS word
            GROUP BY word.lexeme
        ), counted AS (
            INSERT INTO lexemes AS l (collection_id, lexeme, chunks)
            SELECT wanted, lexeme, chunks FROM found
            ON CONFLICT (collection_id, lexeme) DO UPDATE SET chunks = l.chunks + excluded.chunks
            RETURNING lexeme_id, lexeme
        )
        INSERT INTO postings (segment, lexeme_id, packed)
        SELECT fresh, counted.lexeme_id, found.packed FROM counted JOIN found USING (lexeme) ORDER BY counted.lexeme_id;

        PERFORM merge_postings(wanted);
    END LOOP;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION count_removed_chunks() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    wanted bigint;
    rest   lexical_statistics;
BEGIN
    FOR wanted IN SELECT DISTINCT collection_id FROM removed LOOP
        UPDATE lexical_statistics s
        SET chunks = s.chunks - gone.chunks, length = s.length - gone.length, removed = s.removed + gone.chunks
        FROM (SELECT count(*) AS chunks, sum(search_length(search)) AS length
              FROM removed WHERE collection_id = wanted) AS gone
        WHERE s.collection_id = wanted
        RETURNING s.* INTO rest;

        IF rest.chunks = 0 THEN
            PERFORM forget_postings(ARRAY(SELECT segment FROM posting_segments WHERE collection_id = wanted));
            DELETE FROM lexemes WHERE collection_id = wanted;
            DELETE FROM removed_chunks WHERE collection_id = wanted;
            DELETE FROM lexical_statistics WHERE collection_id = wanted;
            CONTINUE;
        END IF;

        INSERT INTO removed_chunks SELECT collection_id, chunk_no FROM removed WHERE collection_id = wanted;
        UPDATE lexemes l SET chunks = l.chunks - gone.chunks
        FROM (SELECT word.lexeme, count(*) AS chunks
              FROM removed r, unnest(r.search) AS word WHERE r.collection_id = wanted GROUP BY 1) AS gone
        WHERE l.collection_id = wanted AND l.lexeme = gone.lexeme;
        -- A lexeme that no chunk holds any more stays until everything is packed anew, at a count of 0.
        IF rest.removed > greatest(1000, rest.chunks / 5) THEN
            DELETE FROM lexemes WHERE collection_id = wanted AND chunks = 0;
            PERFORM pack_all_postings(wanted);
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

SELECT pack_all_postings(collection_id) FROM lexical_statistics;
