"""Tests of `modules/session/attached/`."""
