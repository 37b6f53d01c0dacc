"""Tests of the parts of the indexer."""
