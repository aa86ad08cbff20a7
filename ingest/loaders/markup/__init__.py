"""Formats of marked-up text: web pages, Markdown, reStructuredText."""
