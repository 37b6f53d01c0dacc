"""Runs as trees of spans with their times, read from sessions: for a terminal, and as a page."""
