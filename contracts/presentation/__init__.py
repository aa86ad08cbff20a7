"""R6-7, R6-8: released answers, rendered for readers. The stored answer never changes."""
