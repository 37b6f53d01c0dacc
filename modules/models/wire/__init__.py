"""HTTP as backends without an SDK need it: streams, bounds, and what failures mean."""
