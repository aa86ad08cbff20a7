"""R3: the exact bytes that are sent to the model, and their hash; `templates/` holds the texts (R3-1 to R3-8)."""
