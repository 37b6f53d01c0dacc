"""Repairs of a plan's commonest mistakes, where only one reading makes sense."""
