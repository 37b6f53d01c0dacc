"""A document cut into chunks that follow its structure, or topics that a model finds."""
