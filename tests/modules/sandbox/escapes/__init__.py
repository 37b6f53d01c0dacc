"""Attempts to get out of the sandbox, what is planted for them, and who runs them."""
