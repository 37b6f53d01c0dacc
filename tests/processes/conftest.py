"""What the tests of processes share with those of commands."""

from tests.commands.conftest import hand

__all__ = ["hand"]
