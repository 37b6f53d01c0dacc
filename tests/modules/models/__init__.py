"""Tests of modules/models."""
