"""Tests of `modules/`, one file a module."""
