"""What the memory server searches: past exchanges, indexed by the engine of the documents."""
