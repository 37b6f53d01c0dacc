"""The lives of servers: sessions begun, kept, restarted, and what is remembered of their tools."""
