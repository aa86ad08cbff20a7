"""Commands that answer or check: ask, chat, check, search."""
