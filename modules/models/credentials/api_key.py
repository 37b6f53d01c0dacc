"""A key of a model's service, and where it came from."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ApiKey:
    """`origin` says in messages where the key lies: a variable's name, or the system's keyring."""

    value: str = field(repr=False)
    origin: str
