"""The PDF loader: text, columns, headings and tables, from positions on the page."""
