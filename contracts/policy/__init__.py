"""P: frozen, versioned policies, locked by digest, which a request may tighten but never loosen (P-1 to P-6)."""
