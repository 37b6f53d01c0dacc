"""Tests of `modules.terminal.display`."""
