"""A request in parts: a graph of subtasks, each an ordinary run of the loop, and its schedule."""
