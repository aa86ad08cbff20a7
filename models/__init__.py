"""Generators and embedders: the only room that speaks to models."""
