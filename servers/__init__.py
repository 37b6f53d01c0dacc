"""The bundled MCP servers; each runs alone and imports `servers` and `core.base` alone."""
