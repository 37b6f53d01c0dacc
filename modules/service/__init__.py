"""Doors to the agent other than the terminal, over the same `Conversation`, and what they need."""
