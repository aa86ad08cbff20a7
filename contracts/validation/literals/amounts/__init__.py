"""Numbers with their scales and units, in digits and in words, as literals (R5-8)."""
