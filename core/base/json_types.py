"""The JSON value types, for type checkers; `core.values` has the form that Pydantic can follow."""

from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = dict[str, Json]
