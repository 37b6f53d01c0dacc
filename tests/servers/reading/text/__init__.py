"""Tests of servers/reading/text."""
