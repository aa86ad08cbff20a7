-- Runs, their personal text, and the append-only audit record.

CREATE TABLE runs (
    run_id         text PRIMARY KEY,
    request_id     text NOT NULL,
    thread_id      text NOT NULL,
    collection     text,
    policy_version text NOT NULL,
    model          text NOT NULL,
    status         text NOT NULL CHECK (status IN ('RUNNING', 'OK', 'NO_EVIDENCE', 'FAILED')),
    reason         text,                     -- the refusal or failure code
    started_at     timestamptz NOT NULL,
    finished_at    timestamptz
);

CREATE INDEX runs_started ON runs (started_at DESC);

-- Text that can be personal stands apart, so that it can be erased while the audit record stays.
CREATE TABLE run_texts (
    run_id                text PRIMARY KEY,
    question              text NOT NULL,
    raw_model_text        text,
    validated_answer_text text
);

CREATE TABLE validations (
    request_id             text NOT NULL,
    run_id                 text NOT NULL,
    thread_id              text NOT NULL,
    attempt                integer NOT NULL,
    timestamp_utc          timestamptz NOT NULL,
    generation_status      text NOT NULL,
    validation_status      text NOT NULL,
    failure_reason         text,
    refusal_code           text,
    refusal_source         text,
    citation_count         integer NOT NULL,
    uncited_sentence_count integer NOT NULL,
    invalid_anchor_count   integer NOT NULL,
    malformed_anchor_count integer NOT NULL,
    refusal_detected       boolean NOT NULL,
    length_ratio_flag      boolean NOT NULL,
    suspicious_new_ids     text[] NOT NULL,
    sentence_count         integer NOT NULL,
    attribution_coverage   double precision NOT NULL,
    unsupported_literal_count integer NOT NULL,
    validated_citations    text[] NOT NULL,
    model_name             text NOT NULL,
    response_id            text,
    prompt_sha256          text,
    retrieval_latency_ms   double precision,
    llm_latency_ms         double precision,
    prompt_tokens          integer,
    completion_tokens      integer,
    total_tokens           integer,
    embedding_model        text,
    index_version          text,
    policy_version         text NOT NULL,
    policy_sha256          text NOT NULL,
    support_level          text,
    PRIMARY KEY (request_id, run_id, attempt)
);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit record is append-only: % on % is refused', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE TRIGGER validations_append_only BEFORE UPDATE OR DELETE ON validations
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER validations_no_truncate BEFORE TRUNCATE ON validations
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
