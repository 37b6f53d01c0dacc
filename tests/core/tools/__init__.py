"""Tests of `core.tools`."""
