"""Uploads: files received over HTTP and ingested as on the command line (§10, §13, IX-1, IX-2)."""
