"""Tests of servers/web/pages."""
