"""R6: the public response, which leaves the system without chunk text, scores or prompts (R6-1 to R6-6)."""
