"""Servers: sessions begun, kept and restarted, and what is remembered of their tools."""
