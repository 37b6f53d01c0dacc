"""The command line: a request's options, and one file for each command."""
