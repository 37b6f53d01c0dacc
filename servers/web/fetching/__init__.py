"""Fetching under guard: where a connection may go, and how much an answer may cost."""
