"""R6: the public response: what leaves the system, free of chunk text, scores and prompts (R6-1 to R6-6)."""
