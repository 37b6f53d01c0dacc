"""Tests of modules/models/choosing."""
