-- What `sourcebound models test` found: one row a certification, kept for good, so that the last one can be compared
-- with those before it.

CREATE TABLE model_certificates (
    certificate_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model          text NOT NULL,
    policy_version text NOT NULL,
    certified_at   timestamptz NOT NULL,
    certificate    json NOT NULL             -- contracts/certification/certificate.py, whole; json keeps cases and rules in order
);

CREATE INDEX model_certificates_latest ON model_certificates (model, certificate_id DESC);

CREATE FUNCTION refuse_certificate_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'certificates are append-only: % on % is refused', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE TRIGGER model_certificates_append_only BEFORE UPDATE OR DELETE ON model_certificates
    FOR EACH ROW EXECUTE FUNCTION refuse_certificate_change();
CREATE TRIGGER model_certificates_no_truncate BEFORE TRUNCATE ON model_certificates
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_certificate_change();
