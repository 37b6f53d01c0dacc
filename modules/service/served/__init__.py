"""Runs whose door may close before they end: their events, their file, why they have no answer."""
