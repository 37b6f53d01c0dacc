"""Tests of core.provenance."""
