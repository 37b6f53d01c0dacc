"""Tests of modules/models/ollama."""
