"""The child process that runs weights with llama.cpp."""
