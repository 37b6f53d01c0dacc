"""Texts to vectors: with weights on this machine, or by Ollama or Gemini, behind one protocol."""
