"""Tests of what the servers share."""
