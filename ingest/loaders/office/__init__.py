"""Loaders of office formats other than Word: spreadsheets, presentations, OpenDocument, EPUB, mail and rich text."""
