"""The Model Context Protocol, client side: messages, one session, and the transports below it."""
