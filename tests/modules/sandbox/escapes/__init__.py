"""The escape table: attempts to get out of the sandbox, what is planted for them, who runs them."""
