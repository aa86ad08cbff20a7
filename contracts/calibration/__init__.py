"""P-3, P-5: choose a policy's gate minima from labelled questions."""
