-- Conversations: an ordered list of runs, and the texts that a follow-up needs of the runs before it.

CREATE TABLE conversations (
    conversation_id text PRIMARY KEY,
    started_at      timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE runs
    ADD COLUMN conversation_id text REFERENCES conversations,
    ADD COLUMN ordinal         integer CHECK (ordinal > 0),   -- from 1, in the order in which the runs began
    ADD CONSTRAINT runs_place_in_conversation UNIQUE (conversation_id, ordinal),
    ADD CONSTRAINT runs_whole_place CHECK ((conversation_id IS NULL) = (ordinal IS NULL));

-- Kept from the beginning of a run, so that the next question can follow it before it has ended; erased with its texts.
CREATE TABLE turn_texts (
    run_id       text PRIMARY KEY,
    question     text NOT NULL,
    search_query text                        -- what it was resolved to; null where it stands alone
);
