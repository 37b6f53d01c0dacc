"""Tests of `modules.session`."""
