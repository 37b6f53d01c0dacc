"""Requests in parts: kept workflows, and the runs of their subtasks."""
