"""Tests of servers/reading/process."""
