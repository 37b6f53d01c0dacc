"""Search, from candidates to passages."""
