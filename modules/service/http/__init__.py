"""The HTTP service: the agent behind URLs, for a page, for programs and for other agents."""
