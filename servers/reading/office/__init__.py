"""Packages and tables: Word, PowerPoint, Excel, EPUB, delimited text."""
