-- The leases of processes on their runs (docs/decisions/0019-interrupted-runs.md).

CREATE TABLE leases (
    lease_id   bigint PRIMARY KEY,           -- the number that runs.worker holds
    expires_at timestamptz NOT NULL,         -- by the clock of this server
    host       text,                         -- the boot and the process namespace; null if the process does not know them
    pid        integer CHECK (pid > 0),
    started    bigint,                       -- the start of the process, in clock ticks since the boot
    CONSTRAINT leases_whole_process CHECK ((host IS NULL) = (pid IS NULL) AND (host IS NULL) = (started IS NULL))
);

-- VOLATILE, so that each call sees the leases of that moment: an UPDATE that has waited for a run's row sees the lease
-- of the process that took the run meanwhile.
CREATE FUNCTION is_lease_active(number bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT EXISTS (SELECT FROM leases WHERE lease_id = number AND expires_at > clock_timestamp())
$$;

DROP FUNCTION IF EXISTS is_at_work(bigint);
