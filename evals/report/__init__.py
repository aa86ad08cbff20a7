"""The report of evaluations: one HTML file with charts."""
