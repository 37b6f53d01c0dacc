"""What measures speed; `make bench` runs it and prints one table. Ratios come from one run."""
