"""Tests of `core.run`."""
