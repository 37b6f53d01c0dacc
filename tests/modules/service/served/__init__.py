"""Tests of `modules/service/served/`."""
