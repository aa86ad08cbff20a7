"""The splitting of pages into chunks with their offsets (§13)."""
