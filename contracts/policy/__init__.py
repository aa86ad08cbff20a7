"""P: a policy is frozen, versioned and locked by digest; a request may tighten it and never loosen it (P-1 to P-6)."""
