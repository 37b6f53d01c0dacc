"""How well files become markdown: made files with known content, read back and compared."""
