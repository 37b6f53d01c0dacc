"""Tests of what is quoted from documents."""
