"""Tests of cutting documents into chunks."""
