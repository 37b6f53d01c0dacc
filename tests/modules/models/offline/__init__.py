"""Tests of the offline planner."""
