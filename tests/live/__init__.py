"""Tests against the models' services themselves: `make test-live`."""
