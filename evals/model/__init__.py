"""A real small language model in the loop: questions with known answers, asked through the product."""
