"""Plans as models write them, what CPython makes of each, and random programs."""
