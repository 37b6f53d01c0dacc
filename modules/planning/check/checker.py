"""A plan and the tools that it names, given to a type checker: ty, in a bounded process of its own.

The tools stand in a stub, `__builtins__.pyi`, as a plan finds them: without an import. A type in it
is as wide as what a call takes, and no narrower than what a result promises; where a schema says
less, anything goes. The stub holds the tools alone that the plan names, so it costs next to
nothing.
"""

import ast
import builtins
import functools
import json
import logging
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import SubprocessError
from types import MappingProxyType
from typing import Final, cast

from ty import find_ty_bin

from core.base.frozen import frozen
from core.tools.content import RESULT, TEXT_RESULT
from core.tools.json_schema import as_object, resolve, wrapped_result
from core.tools.spec import ToolSpec, as_identifier
from core.values import Json
from modules.planning.names import PlanNames
from modules.planning.prompt.schema_types import ANYTHING, type_text

CHECK_SECONDS: Final = 3.0
"""Longest wait for one check, which takes some 30 ms."""

OUTPUT_BYTES_MAX: Final = 4 * 1024 * 1024
"""More findings than a plan has room for."""

MEMORY_KIB: Final = 2 * 1024 * 1024
"""Address space of the checker, where the system bounds it; 0.3 GB is usual."""

FUNCTION: Final = "_tool_{}"
"""The function in a stub behind a tool, by its place in the catalogue; findings name it."""

ANSWER: Final = "_Answer"
"""The class in a stub of what `mcp.call_tool` gives."""

_BOUNDED: Final = (
    f"ulimit -c 0; ulimit -t {round(CHECK_SECONDS) + 1}; ulimit -f {OUTPUT_BYTES_MAX // 512}; "
    f'ulimit -v {MEMORY_KIB} 2>/dev/null; exec "$0" "$@"'
)
"""Sets bounds and becomes the checker; macOS has none on address space."""

_OPTIONS: Final = (
    *("check", "--python-version", "3.14", "--output-format", "gitlab", "--no-progress"),
    *("--color", "never", "--exit-zero", "plan.py"),
)

_HEAD: Final = f"""\
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import Any as _Any

class {ANSWER}:
    content: list[_Any]
    structured_content: _Any
    is_error: bool

class _Client:
    async def call_tool(self, *args: _Any, **kwargs: _Any) -> {ANSWER}: ...
    async def search_tools(self, *args: _Any, **kwargs: _Any) -> list[dict[str, _Any]]: ...

mcp: _Client
memory: dict[_Any, _Any]
async def search_tools(*args: _Any, **kwargs: _Any) -> list[dict[str, _Any]]: ...
"""

_GIVEN: Final[Mapping[str, str]] = MappingProxyType(
    {"float": "int", ANYTHING: "_Any", "dict": "dict[str, _Any]", "list": "list[_Any]"}
)
"""What stands for a type of a result: all that works with an `int` works with any number."""

_TAKEN: Final[Mapping[str, str]] = MappingProxyType(
    {"int": "float", "list": "_Iterable[_Any]", "tuple": "_Iterable[_Any]"}
    | {"dict": "_Mapping[str, _Any]"}
    | {name: name for name in ("float", "str", "bool", "None")}
)
"""What an argument may be, by the type that its schema says: a tuple will do as a list."""

_FAILURES: Final = (OSError, ValueError, LookupError, TypeError, SubprocessError)

_log = logging.getLogger(__name__)


@frozen
class Finding:
    """What ty says: the rule, from where to where (lines from 1, characters from 0), the words."""

    rule: str
    start: tuple[int, int]
    end: tuple[int, int]
    words: str


def findings(plan: str, stub: str, program: str | None = None) -> list[Finding]:
    """What ty finds in a plan, by its lines; nothing, and a line in the log, where it fails.

    For a thread: it waits for a process. `program` is another than the installed ty.
    """
    try:
        printed = _printed(program or find_ty_bin(), plan, stub)
        said = cast("list[dict[str, Json]]", json.loads(printed))
        return sorted(map(_finding, said), key=lambda found: (found.start, found.end))
    except _FAILURES as error:
        _tell_once(type(error).__name__)
        return []


@functools.cache
def _tell_once(kind: str) -> None:
    _log.warning("the type checker failed (%s): plans run without its check", kind)


@functools.lru_cache(maxsize=16)
def _printed(program: str, plan: str, stub: str) -> bytes:
    """What ty prints of a plan, in a folder of its own, without an environment."""
    with tempfile.TemporaryDirectory(prefix="cortex-r-check-") as folder:
        place = Path(folder)
        (place / "plan.py").write_text(plan, encoding="utf-8")
        (place / "__builtins__.pyi").write_text(stub, encoding="utf-8")
        (place / "ty.toml").touch()  # else it looks for settings in the folders above
        with (place / "said").open("w+b") as said:
            subprocess.run(  # noqa: S603 - our own program, by its path
                ["/bin/sh", "-c", _BOUNDED, program, *_OPTIONS],
                cwd=place,
                env={"HOME": folder, "TY_MAX_PARALLELISM": "1"},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.DEVNULL,
                timeout=CHECK_SECONDS,
                start_new_session=True,
                check=True,
            )
            said.seek(0)
            return said.read(OUTPUT_BYTES_MAX)


def _finding(said: dict[str, Json]) -> Finding:
    rule = str(said["check_name"])
    positions = cast("dict[str, dict[str, int]]", as_object(said["location"])["positions"])
    start, end = ((at["line"], at["column"] - 1) for at in (positions["begin"], positions["end"]))
    return Finding(rule, start, end, str(said["description"]).removeprefix(f"{rule}: "))


def stub_of(names: PlanNames) -> str:
    """The tools, servers and doors that a plan names, as a stub of Python's own names."""
    named = {node.id for node in names.nodes if isinstance(node, ast.Name)}
    named |= {node.attr for node in names.nodes if isinstance(node, ast.Attribute)}
    tools = [
        (FUNCTION.format(index), tool)
        for index, tool in enumerate(names.tools.known)
        if tool.identifier in named and (names.searches or names.tools.offers(tool))
    ]
    return "\n".join([_HEAD, *_stub_lines(names, named, tools)])


def _stub_lines(
    names: PlanNames, named: set[str], tools: list[tuple[str, ToolSpec]]
) -> Iterator[str]:
    servers = defaultdict[str, list[str]](list, {name: [] for name in names.servers & named})
    bare: dict[str, str] = {}
    for function, tool in tools:
        yield f"async def {function}({_parameters(tool)}) -> {_result(tool)}: ..."
        servers[as_identifier(tool.server)].append(
            f"    {tool.identifier} = staticmethod({function})"
        )
        if not names.tools.is_ambiguous(tool):
            bare[tool.identifier] = function
    for server, members in servers.items():
        yield from (f"class _Server_{server}:", "    _name: _Any", *members)
    yield "class _Tools:"
    yield "    def __getitem__(self, name: _Any) -> _Any: ..."
    yield from (f"    {server}: _Server_{server}" for server in servers if server not in bare)
    yield from (f"    {name} = staticmethod({function})" for name, function in bare.items())
    if "search_tools" not in bare:
        yield "    search_tools = staticmethod(search_tools)"
    yield "tools: _Tools"
    own = {*dir(builtins), "search_tools", "memory", "mcp", "tools"}
    yield from (f"{server}: _Server_{server}" for server in servers if server not in {*bare, *own})
    yield from (f"{name} = {function}" for name, function in bare.items() if name not in own)


def _parameters(tool: ToolSpec) -> str:
    """As a call gives them: `None` will do for one that may be left out."""
    if tool.takes_whole:
        return "*args: _Any, **kwargs: _Any"
    written, may_be_left_out = list[str](), False
    for parameter in tool.parameters:
        may_be_left_out = may_be_left_out or not parameter.required
        taken = _taken(type_text(parameter.schema, tool.input_schema, 0))
        default = " | None = ..." if may_be_left_out else ""
        written.append(f"{parameter.argument}: {taken}{default}")
    return ", ".join([*written, *(["**more_: _Any"] if tool.takes_more else [])])


def _taken(written: str) -> str:
    kinds = [re.sub(r"\[.*", "", one) for one in members(written)]
    if not all(kind in _TAKEN for kind in kinds):
        return "_Any"
    return " | ".join(dict.fromkeys(_TAKEN[kind] for kind in kinds))


def _result(tool: ToolSpec) -> str:
    """What a call gives, where the server's answers are held to it."""
    whole = resolve(schema := tool.output_schema or {}, schema)
    properties, required = as_object(whole.get("properties")), whole.get("required")
    needed = required if isinstance(required, list) else []
    if (wrapped := wrapped_result(properties, schema)) is not None:
        return _given(type_text(properties[wrapped], schema, 0)) if wrapped in needed else "_Any"
    # An object of one property may arrive without it, whatever else the schema allows.
    kept = any(name not in (RESULT, TEXT_RESULT) for name in needed)
    return "dict[str, _Any]" if kept and whole.get("type") == "object" else "_Any"


def _given(written: str) -> str:
    """A type of JSON as a plan has it: a number may be a whole one, and a tuple is a list."""
    if "tuple[" in written:
        written = " | ".join(re.sub(r"^(tuple|list)\[.*", "list", m) for m in members(written))
    for bare, whole in _GIVEN.items():
        written = re.sub(rf"\b{bare}\b(?!\[)", whole, written)
    return written


def members(written: str) -> list[str]:
    """The members of a union as a type is written: `list[int | str] | None` has two."""
    plain = re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', "''", written)
    found, depth, start = list[str](), 0, 0
    for place, character in enumerate(plain):
        depth += (character in "[(") - (character in "])")
        if character == "|" and depth == 0:
            found.append(plain[start:place].strip())
            start = place + 1
    return [*found, plain[start:].strip()]
