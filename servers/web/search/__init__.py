"""Searching the web: four engines behind one protocol, with a cache and a limit before them."""
