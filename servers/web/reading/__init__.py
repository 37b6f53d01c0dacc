"""Reading what was fetched: pages, feeds, documents and pictures as markdown."""
