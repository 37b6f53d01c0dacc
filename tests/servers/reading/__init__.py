"""Tests of servers/reading."""
