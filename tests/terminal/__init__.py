"""Tests of the terminal: progress, answers and the prompt."""
