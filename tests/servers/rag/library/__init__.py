"""Tests of the library as servers and people use it."""
