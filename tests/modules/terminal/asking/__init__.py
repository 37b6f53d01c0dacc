"""Tests of `modules.terminal.asking`."""
