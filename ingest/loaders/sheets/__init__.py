"""The loader of spreadsheets: each sheet is a page, and each row a line with the names of its columns."""
