"""LangGraph's server as a host of the graph: many runs on one thread, and edited states (CP-1)."""
