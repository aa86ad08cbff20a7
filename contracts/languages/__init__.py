"""Languages: which one a text is in, and questions of six others word by word in English (R1-4, R4-9, R5-18)."""
