"""Tests of requests about the web."""
