"""Read-only views of a run: its answer, its page, its receipt, and a preview of retrieval (R6-7)."""
