"""The forms of OpenAI's API, chat completions and responses, as far as they have a meaning here (§10)."""
