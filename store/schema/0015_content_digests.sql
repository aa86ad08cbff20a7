-- R5P-7: an audit record binds what it speaks of. The salt is in the erasable table, so that a digest alone says nothing.

ALTER TABLE run_texts ADD COLUMN salt text;

ALTER TABLE validations
    ADD COLUMN run_digest      text,         -- contracts/audit/digests.py says how each is computed
    ADD COLUMN question_digest text,
    ADD COLUMN raw_text_digest text,
    ADD COLUMN answer_digest   text,
    ADD COLUMN evidence_digest text;
