"""PostgreSQL and pgvector: the only room that speaks SQL."""
