"""CP-8: signed receipts of runs, and their verification without the database."""
