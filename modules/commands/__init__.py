"""What can be done by hand, with no model: servers listed, tried and changed, a tool called."""
