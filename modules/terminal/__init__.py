"""The terminal: the only place that imports prompt_toolkit and rich."""
