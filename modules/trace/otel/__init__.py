"""Runs as spans and metrics of OpenTelemetry; nothing here is imported unless somebody asks."""
