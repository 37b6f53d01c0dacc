"""Tests of modules/models/hosted."""
