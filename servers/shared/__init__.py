"""What the bundled servers share: starting and ending, errors, JSON over HTTP."""
