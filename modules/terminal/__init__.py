"""The terminal: the only place that imports prompt_toolkit."""
