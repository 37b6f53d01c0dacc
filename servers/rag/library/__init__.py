"""The library of documents as servers and people use it: opened, asked, managed, put into words."""
