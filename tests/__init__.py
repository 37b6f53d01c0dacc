"""Tests of Cortex-R; the folders below mirror the packages they test."""
