"""Files that are text, and bytes into text: markdown, source code, notebooks, mail."""
