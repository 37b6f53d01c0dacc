"""Tests of whole processes: the agent, its servers, what is left when one of them is killed."""
