"""R5-17 and R5-18: scores for whether the cited chunks say a statement, and whether an answer answers the question."""
