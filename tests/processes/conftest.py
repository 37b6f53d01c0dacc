"""What the tests of processes share with those of commands."""

from tests.modules.cli.conftest import hand

__all__ = ["hand"]
