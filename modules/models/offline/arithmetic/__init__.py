"""Arithmetic in words and symbols: tokens, grammar, tree, and the plan that works it out."""
