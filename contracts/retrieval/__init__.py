"""R1: the retrieval bundle, query variants, BM25, and the fusion of ranked lists (R1-4 to R1-10)."""
