"""The attempts, one file a family."""
