from pathlib import Path


def compiled() -> Path:
    return Path("/tmp/pw/w.cwasm")
