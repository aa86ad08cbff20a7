-- Which lexeme stands how often in which chunk, so that BM25 needs neither a scan nor a look at a tsvector.
--
-- Triggers keep it, whichever statement writes chunks; a statement that writes many is counted once. A chunk is never
-- updated, only replaced. Writers of one collection take turns by locking its row, so that no count is lost.

ALTER TABLE chunks ADD COLUMN chunk_no integer GENERATED ALWAYS AS IDENTITY UNIQUE;  -- what postings call the chunk
DROP INDEX chunks_search;                        -- nothing asks it any more

-- Vectors are compared all, texts are read of the few chunks that are found: so texts make room for vectors in a row.
ALTER TABLE chunks ALTER COLUMN embedding SET STORAGE MAIN;

-- Of collections that hold chunks.
CREATE TABLE lexical_statistics (
    collection_id bigint PRIMARY KEY,
    chunks        bigint NOT NULL,
    length        bigint NOT NULL            -- of all chunks together
);

-- Each lexeme of a collection, and in how many chunks it stands.
CREATE TABLE lexemes (
    lexeme_id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    collection_id bigint NOT NULL,
    lexeme        text NOT NULL,
    chunks        bigint NOT NULL,
    UNIQUE (collection_id, lexeme)
);

-- The length stands in every posting, because a score needs it of every chunk that it reads.
CREATE TABLE postings (
    lexeme_id bigint NOT NULL,
    chunk_no  integer NOT NULL,
    frequency smallint NOT NULL,             -- positions of the lexeme in the chunk; a tsvector keeps 255 at most
    length    smallint NOT NULL,             -- positions of all its lexemes
    PRIMARY KEY (lexeme_id, chunk_no) INCLUDE (frequency, length)
);

CREATE FUNCTION search_length(search tsvector) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
    SELECT least(coalesce(sum(cardinality(word.positions)), 0), 32767)::smallint FROM unnest(search) AS word
$$;

CREATE FUNCTION count_added_chunks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO lexical_statistics AS s (collection_id, chunks, length)
    SELECT collection_id, count(*), sum(search_length(search)) FROM added GROUP BY collection_id
    ON CONFLICT (collection_id) DO UPDATE SET chunks = s.chunks + excluded.chunks, length = s.length + excluded.length;

    INSERT INTO lexemes AS l (collection_id, lexeme, chunks)
    SELECT a.collection_id, word.lexeme, count(*) FROM added a, unnest(a.search) AS word GROUP BY 1, 2
    ON CONFLICT (collection_id, lexeme) DO UPDATE SET chunks = l.chunks + excluded.chunks;

    -- In the order of the index: so it is written and read with the fewest pages.
    INSERT INTO postings (lexeme_id, chunk_no, frequency, length)
    SELECT l.lexeme_id, a.chunk_no, cardinality(word.positions), a.length
    FROM (SELECT collection_id, chunk_no, search, search_length(search) AS length FROM added OFFSET 0) AS a
    CROSS JOIN unnest(a.search) AS word
    JOIN lexemes l ON l.collection_id = a.collection_id AND l.lexeme = word.lexeme
    ORDER BY l.lexeme_id, a.chunk_no;
    RETURN NULL;
END $$;

CREATE FUNCTION count_removed_chunks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM postings p
    USING removed r CROSS JOIN unnest(r.search) AS word
        JOIN lexemes l ON l.collection_id = r.collection_id AND l.lexeme = word.lexeme
    WHERE p.lexeme_id = l.lexeme_id AND p.chunk_no = r.chunk_no;

    UPDATE lexemes l SET chunks = l.chunks - gone.chunks
    FROM (SELECT r.collection_id, word.lexeme, count(*) AS chunks
          FROM removed r, unnest(r.search) AS word GROUP BY 1, 2) AS gone
    WHERE l.collection_id = gone.collection_id AND l.lexeme = gone.lexeme;

    DELETE FROM lexemes l
    USING (SELECT DISTINCT r.collection_id, word.lexeme FROM removed r, unnest(r.search) AS word) AS gone
    WHERE l.collection_id = gone.collection_id AND l.lexeme = gone.lexeme AND l.chunks = 0;

    UPDATE lexical_statistics s SET chunks = s.chunks - gone.chunks, length = s.length - gone.length
    FROM (SELECT collection_id, count(*) AS chunks, sum(search_length(search)) AS length
          FROM removed GROUP BY collection_id) AS gone
    WHERE s.collection_id = gone.collection_id;

    DELETE FROM lexical_statistics s USING removed r WHERE s.collection_id = r.collection_id AND s.chunks = 0;
    RETURN NULL;
END $$;

CREATE TRIGGER chunks_added AFTER INSERT ON chunks REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION count_added_chunks();
CREATE TRIGGER chunks_removed AFTER DELETE ON chunks REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION count_removed_chunks();

-- What is already there.
INSERT INTO lexical_statistics (collection_id, chunks, length)
SELECT collection_id, count(*), sum(search_length(search)) FROM chunks GROUP BY collection_id;

INSERT INTO lexemes (collection_id, lexeme, chunks)
SELECT k.collection_id, word.lexeme, count(*) FROM chunks k, unnest(k.search) AS word GROUP BY 1, 2;

INSERT INTO postings (lexeme_id, chunk_no, frequency, length)
SELECT l.lexeme_id, k.chunk_no, cardinality(word.positions), k.length
FROM (SELECT collection_id, chunk_no, search, search_length(search) AS length FROM chunks OFFSET 0) AS k
CROSS JOIN unnest(k.search) AS word
JOIN lexemes l ON l.collection_id = k.collection_id AND l.lexeme = word.lexeme
ORDER BY l.lexeme_id, k.chunk_no;
