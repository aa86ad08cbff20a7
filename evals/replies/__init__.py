"""Replies of any model to real prompts, judged through both attempts without a connection to the model."""
