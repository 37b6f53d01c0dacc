"""Tests of modules/models/http."""
