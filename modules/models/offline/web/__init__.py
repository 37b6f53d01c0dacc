"""Requests about the web: searches, pages, their summaries."""
