"""Tests of modules/models/credentials."""
