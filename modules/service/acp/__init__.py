"""The Agent Client Protocol over stdio: an editor is the person's door to the agent.

The protocol is JSON-RPC, one message a line (agentclientprotocol.com, version 1). Its Python SDK
drives the tests, and does not run here: `initialize` is answered 0.54 s after the start, with the
SDK 1.48 s (medians of six, two busy cores; its 273 models take 0.8 s of CPU to import), and it
neither bounds what it reads nor answers what it can't read. So this is `core.mcp.peer`'s part.
"""
