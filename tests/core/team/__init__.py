"""Tests of `core.team`."""
