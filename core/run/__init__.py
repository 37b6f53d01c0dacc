"""What one run keeps: calls, results for retries, observations, values by name, its sources."""
