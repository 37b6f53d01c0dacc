"""The JSON Schema of a reply's shape, in the subset that all providers and grammars take.

OpenAI's strict mode is the narrowest: every property is required, no object is open, and bounds
and defaults are better left out (https://platform.openai.com/docs/guides/structured-outputs).
References are written out, because not every grammar follows them. What is lost on the way,
such as bounds on numbers, is still checked in the reply.
"""

from typing import TypeGuard

from pydantic import BaseModel

from core.values import Json, JsonObject

_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})


def reply_schema(shape: type[BaseModel]) -> JsonObject:
    """The schema of the object that a model should write to be read as `shape`.

    Raises:
        TypeError: the shape has what can't be said in the subset: maps with free keys, tuples,
            fields of any type, or shapes within themselves. A mistake of whoever wrote it.
    """
    schema: JsonObject = shape.model_json_schema()
    if schema.get("type") != "object":
        raise TypeError(f"{shape.__name__} is not an object with named fields")
    return _Plainer(shape.__name__, schema).plain(schema)


def held_schema(schema: JsonObject) -> JsonObject | None:
    """A JSON Schema in the subset; None where that can't say it.

    So it is with fields that may be left out: in the subset a model would have to invent them.
    """
    try:
        return _Plainer("the schema", schema, may_leave_out=True).plain(schema)
    except TypeError:
        return None


class _Plainer:
    """Writes one shape's schema again with the words of the subset only.

    With `may_leave_out`, a field that isn't required may be left out; else it has a default.
    """

    def __init__(self, name: str, schema: JsonObject, *, may_leave_out: bool = False) -> None:
        definitions = schema.get("$defs")
        self._name = name
        self._definitions = definitions if _is_object(definitions) else {}
        self._may_leave_out = may_leave_out
        self._entered: list[str] = []

    def plain(self, schema: JsonObject) -> JsonObject:
        """The schema in the subset; only the description is kept beside what it says of values."""
        plain = self._said_of_values(schema)
        description = schema.get("description")
        return plain | {"description": description} if isinstance(description, str) else plain

    def _said_of_values(self, schema: JsonObject) -> JsonObject:
        match schema:
            case {"$ref": str(reference)}:
                return self._referred(reference)
            case {"allOf": [only]} if _is_object(only):
                return self.plain(only)
            case {"anyOf": list(choices)} | {"oneOf": list(choices)}:
                return {"anyOf": [self.plain(choice) for choice in choices if _is_object(choice)]}
            case {"enum": list(values)}:
                return _one_of(values)
            case {"const": value}:
                return _one_of([value])
            case {"type": "object", "properties": properties} if _is_object(properties):
                return self._closed_object(properties, schema.get("required"))
            case {"type": "array", "items": items} if _is_object(items) and items:
                return {"type": "array", "items": self.plain(items)}
            case {"type": str(kind)} if kind in _SCALARS:
                return {"type": kind}
            case {"type": list(kinds)}:
                return {"anyOf": [self._said_of_values({**schema, "type": k}) for k in kinds]}
            case _:
                raise TypeError(
                    f"{self._name} can't be asked of every model, because of {schema}: use objects "
                    "with named fields, lists, choices and plain values"
                )

    def _closed_object(self, properties: JsonObject, required: Json) -> JsonObject:
        names = {*map(str, required)} if isinstance(required, list) else set[str]()
        if self._may_leave_out and names != {*properties}:
            raise TypeError(f"{self._name} has fields that may be left out")
        plain = {name: self.plain(each) for name, each in properties.items() if _is_object(each)}
        return {
            "type": "object",
            "properties": {**plain},
            "required": [*plain],
            "additionalProperties": False,
        }

    def _referred(self, reference: str) -> JsonObject:
        name = reference.rpartition("/")[2]
        target = self._definitions.get(name)
        if name in self._entered or not _is_object(target):
            raise TypeError(f"{self._name} can't be asked of every model: {name} holds itself")
        self._entered.append(name)
        plain = self.plain(target)
        self._entered.pop()
        return plain


def _one_of(values: list[Json]) -> JsonObject:
    """A choice of values, whose type goes along because some grammars want it."""
    kinds: dict[str, list[Json]] = {}
    for value in values:
        kinds.setdefault(_kind(value), []).append(value)
    choices: list[JsonObject] = [
        {"type": kind} if kind == "null" else {"type": kind, "enum": those}
        for kind, those in kinds.items()
    ]
    return choices[0] if len(choices) == 1 else {"anyOf": [*choices]}


def _kind(value: Json) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case str():
            return "string"
        case None:
            return "null"
        case _:
            raise TypeError(f"{value!r} can't be a choice that every model is asked for")


def _is_object(value: Json) -> TypeGuard[JsonObject]:
    return isinstance(value, dict)
