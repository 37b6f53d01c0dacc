"""What the math server computes: arithmetic on plain numbers, and thumbnails."""
