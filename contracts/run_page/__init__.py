"""What a person reads of a run: the search report and the page of a recorded run (R6-7, S-3)."""
