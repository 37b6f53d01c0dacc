"""Parts of the indexer: what lies in the folders, what changed, and how it gets into the index."""
