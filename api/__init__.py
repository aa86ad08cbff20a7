"""The HTTP server: questions, records, evidence and the page, for every caller behind the same checks (§10, R6-7)."""
