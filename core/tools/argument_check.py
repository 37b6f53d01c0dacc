"""The arguments of a call held against its tool's input schema, before anything is sent.

What is refused is told in the names that a plan uses: those of the tool's signature, the `input`
wrapper left away. Two mistakes of models are repaired, not refused, because their meaning
is beyond doubt: `None` for an argument that may be left out and isn't allowed to be null is left
out ("the default"), and text that spells a number as JSON does ("3") becomes that number where the
schema takes numbers and no text.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from core.errors import CallRefused
from core.tools.findings import MISSING, Fault, Place, quoted
from core.tools.json_schema import as_object, value_at
from core.tools.schema_check import SchemaCheck
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject

FAULTS_TOLD: Final = 8
"""How many faults of a call are told one by one."""

PLACE_PARTS_TOLD: Final = 12
"""How many keys and indices of a place are told."""


def argument_check(tool: ToolSpec) -> "ArgumentCheck":
    """The check of this tool, made once and kept with it as a cached property would be."""
    kept = vars(tool).get("_argument_check")
    if isinstance(kept, ArgumentCheck):
        return kept
    check = ArgumentCheck(tool)
    vars(tool)["_argument_check"] = check
    return check


class ArgumentCheck:
    """One tool's input schema as a check; usable from several threads."""

    def __init__(self, tool: ToolSpec) -> None:
        """Compile nothing yet."""
        self._tool = tool.name
        self._schema = SchemaCheck(tool.input_schema, checks_formats=True)
        self._wrapper = tool.wrapper
        self._arguments = {p.name: p.argument for p in tool.parameters}
        self._optional = frozenset(p.name for p in tool.parameters if not p.required)

    def checked(self, arguments: JsonObject) -> JsonObject:
        """Arguments in the server's form, mistakes repaired; the same object if there were none.

        A schema that can't be read, or would take too long, is left to the server to apply.

        Raises:
            CallRefused: some don't fit; the message names each and what is expected.
        """
        arguments, faults = self._repaired(arguments)
        if faults:
            raise CallRefused(self._refusal(faults))
        return arguments

    def check_known(self, arguments: JsonObject) -> None:
        """The same for some of a call's arguments, of which others are not known yet.

        Raises:
            CallRefused: something is wrong inside of one that is given.
        """
        arguments, faults = self._repaired(arguments)
        given = arguments if self._wrapper is None else as_object(arguments[self._wrapper])
        known = [f for f in faults if (inner := self._inner(f.place)) and inner[0] in given]
        if known:
            raise CallRefused(self._refusal(known))

    def _repaired(self, arguments: JsonObject) -> tuple[JsonObject, Sequence[Fault]]:
        """The arguments with what can be repaired put right, and what is wrong all the same."""
        faults = self._schema.faults(arguments)
        mended = self._mended(arguments, faults)
        return (arguments, faults) if mended is arguments else (mended, self._schema.faults(mended))

    def _mended(self, arguments: JsonObject, faults: Sequence[Fault]) -> JsonObject:
        for fault in faults:
            if fault.meant is not None:
                arguments = as_object(_replaced(arguments, fault.place, fault.meant))
            elif self._may_be_left_out(arguments, fault.place):
                arguments = as_object(_without(arguments, fault.place))
        return arguments

    def _may_be_left_out(self, arguments: JsonObject, place: Place) -> bool:
        """Whether an optional argument, itself and not a part of it, was given as None."""
        inner = self._inner(place)
        is_optional = len(inner) == 1 and inner[0] in self._optional
        return is_optional and value_at(arguments, place) is None

    def _inner(self, place: Place) -> Place:
        """A place without the wrapper."""
        return place[1:] if self._wrapper is not None and place[:1] == (self._wrapper,) else place

    def _refusal(self, faults: Sequence[Fault]) -> str:
        told = [self._told(fault) for fault in faults[:FAULTS_TOLD]]
        more = [f"and {len(faults) - FAULTS_TOLD} more faults"] if len(faults) > FAULTS_TOLD else []
        return f"{self._tool}(): {'; '.join([*told, *more])}"

    def _told(self, fault: Fault) -> str:
        if fault.words == MISSING and not self._inner(fault.place):
            return f"the arguments are missing, the object '{self._wrapper}'"
        space = "" if fault.words.startswith(":") else " "
        return f"{self._named(fault.place)}{space}{fault.words}"

    def _named(self, place: Place) -> str:
        """A place as an author of plans would write it: argument 'items[2].price'."""
        inner = self._inner(place)
        return f"argument '{''.join(self._parts(inner))}'" if inner else "the arguments"

    def _parts(self, place: Place) -> Iterator[str]:
        name = str(place[0])
        yield quoted(self._arguments.get(name, name))[1:-1]
        for part in place[1:PLACE_PARTS_TOLD]:
            is_name = isinstance(part, str) and part.isascii() and part.isidentifier()
            yield f".{quoted(part)[1:-1]}" if is_name else f"[{quoted(part)}]"
        if len(place) > PLACE_PARTS_TOLD:
            yield "…"


def _replaced(value: Json, place: Place, new: Json) -> Json:
    """A copy of a value with another one at that place; what lies beside it is shared."""
    if not place:
        return new
    part, rest = place[0], place[1:]
    if isinstance(value, list) and isinstance(part, int):
        return [*value[:part], _replaced(value[part], rest, new), *value[part + 1 :]]
    known, name = as_object(value), str(part)
    return {**known, name: _replaced(known.get(name), rest, new)}


def _without(value: Json, place: Place) -> Json:
    """A copy of an object without the key at that place, which lies in objects only."""
    name, rest, known = str(place[0]), place[1:], as_object(value)
    if rest:
        return {**known, name: _without(known.get(name), rest)}
    return {key: item for key, item in known.items() if key != name}
