"""Generators and embedders. This is the only room that talks to models."""
