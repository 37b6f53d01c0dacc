"""Files that are text: markdown, source code, mail, links."""
