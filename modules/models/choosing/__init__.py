"""From what the user names, or from what is there, to the backends that answer."""
