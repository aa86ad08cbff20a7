"""The contracts: pure functions and frozen models, one file a layer.

Nothing here opens a file, a socket or a database.
"""
