"""The JSON value types that cross every boundary of the program."""

from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""Any JSON value, as `json.loads` gives it."""

JsonObject: TypeAlias = "dict[str, Json]"
"""A JSON object."""
