"""A persisted conversation: its record and file, and what the user attaches to a request."""
