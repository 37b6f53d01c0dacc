"""The JSON value types that cross every boundary of the program."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.base.json_text import Json as Json
    from core.base.json_text import JsonObject as JsonObject
else:
    # Pydantic needs a named alias to follow the recursion; pyright follows only the plain one
    # in every order in which it may meet the files.
    from typing_extensions import TypeAliasType

    Json = TypeAliasType("Json", "bool | int | float | str | list[Json] | dict[str, Json] | None")
    JsonObject = TypeAliasType("JsonObject", "dict[str, Json]")
