"""Any tool of any server: the one that a request names, and its arguments."""
