"""R4-9: the extractive generator: which sentences of a prompt's evidence answer its question, or that none does."""
