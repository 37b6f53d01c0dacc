"""Tests of `modules/service/http`."""
