"""CP-2, CP-6: the run registry, model answers, conversations and certificates."""
