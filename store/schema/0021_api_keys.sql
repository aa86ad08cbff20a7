-- Keys of the HTTP server. A secret has 256 random bits, so that a plain digest of it gives nothing away. A key is never
-- deleted: from the first one on, every request needs a key.

CREATE TABLE api_keys (
    key_id      text PRIMARY KEY,            -- the public part of the key
    name        text NOT NULL,
    digest      bytea NOT NULL,              -- SHA-256 of the whole key
    scopes      text[] NOT NULL,
    collections text[],                      -- null: all
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz,
    revoked_at  timestamptz
);
