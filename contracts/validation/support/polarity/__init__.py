"""R5-17: whether a statement says in other words the contrary of its chunks."""
