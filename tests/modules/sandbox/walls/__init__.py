"""Tests of `modules.sandbox.walls.launcher`."""
