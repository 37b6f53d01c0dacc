"""Commands at the prompt."""
