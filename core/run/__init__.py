"""What one run keeps: its calls, results for retries, observations, the sources of its answer."""
