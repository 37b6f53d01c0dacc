"""Tests of fetching, mostly over real sockets of loopback."""
