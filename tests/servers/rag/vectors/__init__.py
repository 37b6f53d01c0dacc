"""Tests of where nearest vectors are looked up."""
