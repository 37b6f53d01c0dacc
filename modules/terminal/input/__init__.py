"""What is typed at the terminal: the prompt, its keys, completion, history, and plain lines."""
