"""Tests with parts that others made: MCP servers, the Inspector, the conformance suite."""
