"""R3-9: the facts phase: read facts from the evidence, keep the relevant ones."""
