"""Tests of modules/models/serving."""
