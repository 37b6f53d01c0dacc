"""Tests of servers/reading/office."""
