"""Answers quoted from documents and pages: what a question wants, and which sentences answer it."""
