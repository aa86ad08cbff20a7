"""CP-2, CP-7: checkpoints, the lease of a process on its runs, and retention."""
