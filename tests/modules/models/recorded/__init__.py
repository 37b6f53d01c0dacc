"""Tests of modules/models/recorded."""
