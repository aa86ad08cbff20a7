"""R4-9: a question without courtesy, slips and abbreviations, in the words of its evidence."""
