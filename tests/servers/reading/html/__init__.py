"""Tests of servers/reading/html."""
