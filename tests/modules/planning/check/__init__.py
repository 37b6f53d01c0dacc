"""Tests of `modules.planning.check`."""
