"""The second wall: what the kernel keeps from the sandbox's workers (Linux)."""
