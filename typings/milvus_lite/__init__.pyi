"""Milvus Lite, imported to see whether it is there."""
