"""Everyday requests, as tables: whole phrasings, and the lines of the plan that answers each."""
