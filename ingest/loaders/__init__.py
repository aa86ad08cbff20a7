"""The loaders, one for each file format. Each returns pages of text blocks with offsets (§13)."""
