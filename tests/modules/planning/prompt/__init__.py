"""Tests of `modules.planning.prompt`."""
