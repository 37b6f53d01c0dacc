"""Tests of `modules.planning`."""
