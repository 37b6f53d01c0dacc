"""Tests of the agent as an MCP server."""
