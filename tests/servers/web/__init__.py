"""Tests of the web engine."""
