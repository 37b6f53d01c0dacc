"""Where nearest vectors are looked up: FAISS in this process, or Milvus elsewhere."""
