"""The connection pool, the migrations and the named queries."""
