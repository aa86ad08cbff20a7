"""The commands on documents and collections: ingest, documents, collections, index, calibrate."""
