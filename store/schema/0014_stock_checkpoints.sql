-- Checkpoints in the stock saver's form: versions are compared as text, so those of earlier versions get the same width.

CREATE FUNCTION pg_temp.widen(versions jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT regexp_replace(versions::text, '"(\d{6}\.[0-9a-f]{8})"', '"' || repeat('0', 26) || '\1"', 'g')::jsonb
$$;

UPDATE checkpoints SET checkpoint = checkpoint
    || jsonb_build_object('channel_versions', pg_temp.widen(checkpoint -> 'channel_versions'))
    || jsonb_build_object('versions_seen', pg_temp.widen(checkpoint -> 'versions_seen'))
WHERE checkpoint ->> 'channel_versions' ~ '"\d{6}\.[0-9a-f]{8}"';

UPDATE checkpoint_blobs SET version = repeat('0', 26) || version WHERE version ~ '^\d{6}\.[0-9a-f]{8}$';

-- Long values are stored as they are: compressing them took half of the time that PostgreSQL needs to store a run.
ALTER TABLE checkpoint_blobs ALTER COLUMN blob SET STORAGE EXTERNAL;
