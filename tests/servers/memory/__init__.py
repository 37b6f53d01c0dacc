"""The memory server: past exchanges, found again."""
