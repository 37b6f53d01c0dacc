"""Ollama's own API: chats, facts about models, what is installed, whether it runs."""
