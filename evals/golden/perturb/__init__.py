"""Perturbations of golden items: a changed question or changed documents, with the outcome that is then right."""
