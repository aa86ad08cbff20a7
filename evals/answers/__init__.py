"""Answers with the built-in generator, judged after the firewall: right, wrong or refused."""
