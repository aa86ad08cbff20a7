"""CP-6: a follow-up is resolved to a search query that stands alone; the user's words stay in the prompt (R3-4)."""
