"""What a person at the terminal sees: answers laid out, and a run while it goes on."""
