"""The agent as a model behind OpenAI's chat API, for any program that speaks it."""
