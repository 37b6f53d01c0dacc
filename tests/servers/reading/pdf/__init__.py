"""Tests of servers/reading/pdf."""
