"""Runs as OpenTelemetry's spans and metrics, in memory and sent to a receiver on loopback."""
