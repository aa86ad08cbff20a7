"""Documents, the collections that hold them, and their vector index (§13, R1-8)."""
