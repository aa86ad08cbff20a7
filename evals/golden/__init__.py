"""Golden sets: questions with the outcome that each must have (contract §11)."""
