"""Tests of the document folders."""
