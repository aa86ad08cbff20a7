"""From files to chunks: loaders, chunking and the pipeline that stores them."""
