"""Tests of `modules.team`."""
