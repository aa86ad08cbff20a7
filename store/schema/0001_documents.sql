-- Collections, documents, their pages as text, and their chunks.

CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE collections (
    collection_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name            text NOT NULL UNIQUE,
    embedder        text NOT NULL,           -- how to open the embedder: minilm, lexical, ollama:MODEL, openai:MODEL
    embedding_model text NOT NULL,           -- its exact name, part of the fingerprint
    dimensions      integer NOT NULL,        -- 0 where there are no vectors
    metric          text NOT NULL CHECK (metric IN ('cosine', 'lexical')),
    chunker         text NOT NULL,
    language        regconfig NOT NULL,
    documents_digest bytea NOT NULL,         -- exclusive or of the digests of all documents: order does not matter
    created_at      timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE documents (
    document_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    collection_id    bigint NOT NULL REFERENCES collections ON DELETE CASCADE,
    knowledge_id     text NOT NULL,          -- stable name of the document within its collection
    source_path      text NOT NULL,          -- where it was read from
    source_reference text NOT NULL,          -- what a reader knows it by
    source_digest    bytea NOT NULL,         -- file, metadata and chunker: equal digest, nothing to do
    media_type       text NOT NULL,
    title            text NOT NULL,
    revision         text,
    event_date       date,
    equipment_id     text,
    knowledge_type   text NOT NULL,
    authority        text,
    ingested_at      timestamptz NOT NULL DEFAULT now(),
    UNIQUE (collection_id, knowledge_id)
);

CREATE TABLE pages (
    document_id bigint NOT NULL REFERENCES documents ON DELETE CASCADE,
    page_index  integer NOT NULL,
    page_number integer,
    text        text NOT NULL,
    PRIMARY KEY (document_id, page_index)
);

CREATE TABLE chunks (
    collection_id bigint NOT NULL REFERENCES collections ON DELETE CASCADE,
    chunk_id      text NOT NULL,
    document_id   bigint NOT NULL REFERENCES documents ON DELETE CASCADE,
    ordinal       integer NOT NULL,
    page_index    integer NOT NULL,
    page_number   integer,
    heading_path  text[] NOT NULL,
    char_start    integer NOT NULL,
    char_end      integer NOT NULL,
    text          text NOT NULL,             -- pages.text[char_start, char_end), kept here so that search reads one table
    search        tsvector NOT NULL,
    embedding     vector,                    -- null where the collection is lexical
    PRIMARY KEY (collection_id, chunk_id)
);

CREATE INDEX chunks_document ON chunks (document_id);
CREATE INDEX chunks_search ON chunks USING gin (search);
