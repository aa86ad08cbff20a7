"""Loaders of office formats other than Word: sheets, slides, OpenDocument, EPUB, mail, Outlook and rich text."""
