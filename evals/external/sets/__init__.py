"""The sets of an external evaluation: their shapes, their records, and the collections made of them."""
