"""Tests of `modules.planning.repair`."""
