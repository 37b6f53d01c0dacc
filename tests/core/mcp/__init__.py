"""The Model Context Protocol, client side."""
