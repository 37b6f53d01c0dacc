"""What the bundled servers share: starting and ending, errors, where Ollama listens."""
