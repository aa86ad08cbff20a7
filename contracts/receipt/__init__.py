"""CP-8: a signed receipt of a run, and its verification without the database."""
