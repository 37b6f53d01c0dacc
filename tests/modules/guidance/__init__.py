"""Tests of `modules.trace`."""
