"""Tests of requests that name a tool."""
