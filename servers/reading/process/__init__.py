"""The child processes in which untrusted files and pages are read, under limits."""
