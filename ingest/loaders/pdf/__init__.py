"""The PDF loader: text, columns, headings, tables and page furniture, from positions on the page."""
