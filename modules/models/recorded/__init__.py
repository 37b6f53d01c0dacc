"""Models that were recorded: the file, the model that writes it, and the one that replays it."""
