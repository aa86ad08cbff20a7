"""The search report and the page of a recorded run, for people (R6-7, S-3)."""
