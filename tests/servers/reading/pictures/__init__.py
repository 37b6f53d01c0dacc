"""Tests of servers/reading/pictures."""
