"""The lives of servers, and what is remembered of their tools."""
