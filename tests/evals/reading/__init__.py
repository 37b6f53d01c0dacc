"""How well web pages are read: pages made for the purpose, whose main text is known."""
