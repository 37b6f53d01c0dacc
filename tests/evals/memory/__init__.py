"""Recall: what was asked in 2,000 exchanges, asked for again in other words."""
