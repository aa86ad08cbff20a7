"""The pieces of a chunk: sentences, list items, rows and code, with what leads to them (R4-9)."""
