"""Tests of the math server's arithmetic and thumbnails."""
