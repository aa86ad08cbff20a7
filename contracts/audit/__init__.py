"""R5P: the audit record and the hash chain that links all records (R5P-1 to R5P-4)."""
