"""Texts to vectors: with weights on this machine, or by Ollama or Gemini, behind one protocol."""

from servers.rag.embedding.opening import ClosableEmbedder, open_embedder

__all__ = ["ClosableEmbedder", "open_embedder"]
