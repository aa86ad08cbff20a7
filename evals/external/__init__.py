"""The evaluations over external data, under one command that takes any folder of their shapes."""
