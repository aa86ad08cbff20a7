"""Loaders of office formats: slides, OpenDocument, EPUB, mail, Outlook, rich text, and parts of Word's."""
