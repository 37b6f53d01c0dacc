"""Around every backend: one request watched, bounded, tried again, counted and priced."""
