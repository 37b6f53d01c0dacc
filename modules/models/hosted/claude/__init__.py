"""The parts of the Anthropic backend."""
