"""The bundled MCP servers; each runs alone and imports nothing of ours but `servers`."""
