"""Weights in a GGUF file, run by llama.cpp in a child process."""
