"""Loaders of office formats: sheets, slides, OpenDocument, EPUB, mail, Outlook, rich text, and parts of Word's."""
