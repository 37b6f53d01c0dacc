"""One process a contender: it opens a session with a server and makes calls when it is told to."""
