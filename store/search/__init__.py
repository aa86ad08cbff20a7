"""Retrieval (R1) in PostgreSQL: documents and chunks, BM25, exact and approximate vector search (§13)."""
