-- The primary keys of LangGraph's tables begin with the thread, so its indexes on the thread alone serve no query. Each
-- checkpoint and each value was also written to one of them. LangGraph's own migrations do not create them again.
DROP INDEX IF EXISTS checkpoints_thread_id_idx, checkpoint_blobs_thread_id_idx, checkpoint_writes_thread_id_idx;
