"""The file form of recordings, and how a request is found in one."""
