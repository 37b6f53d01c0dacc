"""Tests of `modules/service/`."""
