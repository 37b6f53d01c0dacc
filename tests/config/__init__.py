"""Tests of what reads `config/`."""
