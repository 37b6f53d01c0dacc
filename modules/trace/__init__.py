"""Runs as trees of spans with their times, read from sessions; pages of them, and of statistics."""
