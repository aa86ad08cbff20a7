"""One loader for each file format; each returns pages of text blocks with offsets (§13)."""
