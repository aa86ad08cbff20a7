"""R5P: the audit log, its export, and the key that signs receipts (CP-8)."""
