"""The embedded PostgreSQL server. This package does not depend on the product's tables."""
