"""Configuration files and `settings`, the one place that reads them."""
