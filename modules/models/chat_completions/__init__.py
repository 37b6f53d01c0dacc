"""The parts of the OpenAI backend: its protocol's requests and replies."""
