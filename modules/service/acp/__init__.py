"""The Agent Client Protocol over stdio: an editor is the person's door to the agent.

The protocol is JSON-RPC, one message a line (agentclientprotocol.com, version 1). Its Python SDK
drives the tests, and does not run here: its 273 models take 0.8 s to import before `initialize` can
be answered (1.4 s in all, 0.6 s without it; `agent.py acp`, two cores), and it neither bounds what
it reads nor answers what it can't read. The conversation is `core.mcp.peer`'s, as with servers.
"""
