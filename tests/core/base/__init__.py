"""What every layer shares."""
