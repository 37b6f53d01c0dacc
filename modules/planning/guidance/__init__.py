"""Texts that a user or a project wrote for the agent: instructions, skills, commands; trusted."""
