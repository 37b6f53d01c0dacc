"""The parts of the agent, one noun each; `app` puts them together."""
