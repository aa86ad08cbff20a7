"""R5-8: every number, date, identifier, URL and quotation of a statement is in a chunk that the statement cites."""
