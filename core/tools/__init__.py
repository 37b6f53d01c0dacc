"""A tool: its specification, its place in the catalogue, its ranking, its arguments and results."""
