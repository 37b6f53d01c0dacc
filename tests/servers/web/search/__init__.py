"""Search engines on loopback."""
