"""`sourcebound eval`: golden sets, their gates, and the comparison of evaluations."""
