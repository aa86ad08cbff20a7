-- Each audit record carries the hash of the one before it, so that a change by whoever can change a table is found.
-- Records from before this migration stay as they are, without a position: the chain begins with the next one.

ALTER TABLE validations
    ADD COLUMN position      bigint UNIQUE,  -- 1, 2, … in the order of writing
    ADD COLUMN previous_hash text,           -- row_hash of the position before; zeros at position 1
    ADD COLUMN row_hash      text,           -- contracts/audit/hash_chain.py says how it is computed
    ADD CONSTRAINT validations_chained
        CHECK (position IS NOT NULL AND previous_hash IS NOT NULL AND row_hash IS NOT NULL) NOT VALID;

-- The end of the chain. Its one row is locked for every append, so that appends take turns, and shows a cut-off end.
CREATE TABLE audit_head (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    position  bigint NOT NULL,
    row_hash  text NOT NULL,
    unchained bigint NOT NULL                -- records from before the chain
);

INSERT INTO audit_head (position, row_hash, unchained)
SELECT 0, repeat('0', 64), count(*) FROM validations;

CREATE TRIGGER audit_head_stays BEFORE DELETE ON audit_head
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_head_no_truncate BEFORE TRUNCATE ON audit_head
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
