"""Tests of modules/models/local."""
