"""What every layer shares, each idea once; by the standard library alone, for servers too."""
