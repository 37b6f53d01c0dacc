"""Tests of `agent.py mcp` and `agent.py call`."""
