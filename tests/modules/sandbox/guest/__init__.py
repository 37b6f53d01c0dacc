"""Tests of the program inside the sandbox, from outside."""
