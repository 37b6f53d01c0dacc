"""Tests of `modules.terminal`."""
