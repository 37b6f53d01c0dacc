"""The agent as an MCP server, over stdio and over HTTP: it is asked, and its servers are lent."""
