"""Models of services elsewhere, and of servers that speak OpenAI's protocol."""
