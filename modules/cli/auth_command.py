"""The actions of `auth` as values, one class each; no key is ever part of one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:  # which has these classes in its union
    from modules.cli.command import Options


@dataclass(frozen=True, slots=True)
class SetKey:
    """`auth set NAME`: keep a key in the system's keyring; it comes from the terminal or stdin."""

    options: "Options"
    name: str


@dataclass(frozen=True, slots=True)
class ListKeys:
    """`auth list`: which keys are there, and where."""

    options: "Options"


@dataclass(frozen=True, slots=True)
class RemoveKey:
    """`auth remove NAME`: take a key out of the keyring."""

    options: "Options"
    name: str


AuthCommand: TypeAlias = SetKey | ListKeys | RemoveKey
