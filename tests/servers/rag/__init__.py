"""Tests of the engine behind the documents server."""
