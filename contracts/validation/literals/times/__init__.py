"""Dates, times, decades, days and frequencies as literals (R5-8)."""
