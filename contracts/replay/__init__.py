"""CP-1, CP-3 to CP-5: recorded runs, their recomputation layer by layer, and the differences."""
