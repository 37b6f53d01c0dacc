"""Tests of `modules.planning.reply`."""
