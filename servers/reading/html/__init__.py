"""HTML: the part that holds the text, what is hidden in it, and markdown of the rest."""
