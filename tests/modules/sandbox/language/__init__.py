"""Tests of `modules.sandbox.language`."""
