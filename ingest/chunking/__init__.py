"""Split pages into chunks that keep their offsets (§13)."""
