"""The embedded PostgreSQL server. This package knows nothing of the product's tables."""
