"""Tests of the bundled MCP servers."""
