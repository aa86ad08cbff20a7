"""R4-9: general words of technical English by which the generator relates a question and a sentence."""
