"""Tests of servers/rag/embedding."""
