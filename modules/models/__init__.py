"""Model backends, one file each, behind `core.ports.TextModel`."""
