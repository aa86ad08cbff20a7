"""PostgreSQL and pgvector. This is the only room that contains SQL."""
