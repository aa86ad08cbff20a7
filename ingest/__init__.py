"""The ingest: loaders, chunking and the pipeline that stores documents."""
