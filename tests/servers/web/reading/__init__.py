"""Tests of reading: fetched bytes into markdown."""
