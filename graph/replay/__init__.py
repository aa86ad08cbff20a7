"""CP-3 to CP-5: load recorded runs from the database, recompute them, ask again."""
