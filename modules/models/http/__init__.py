"""HTTP with models' services: one client with its bounds, streamed replies, errors."""
