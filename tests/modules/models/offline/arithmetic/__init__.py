"""Tests of the grammar of arithmetic."""
