"""The parts of the Gemini backend."""
