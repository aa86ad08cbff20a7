"""R5-17: which thing a value is said of, in a statement and in its chunks."""
