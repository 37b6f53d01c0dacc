"""Makes each generated page of `docs/` as text; `python -m tests.documentation` writes them."""

import ast
import inspect
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import cast, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from config.schema import AgentProfile, TeamSection
from core import errors
from core.base.json_text import Json, JsonObject
from core.errors import CortexError, ExitCode, exit_code_of
from modules.cli.command_line import ACTIONS, COMMANDS
from modules.cli.prompt_commands.dispatch import COMMANDS_AT_PROMPT
from modules.cli.schema import SCHEMAS
from modules.team.roles import roles_of
from modules.trace.otel import names
from tests.command_line import agent, environment
from tests.documentation.http_page import SECTIONS

GENERATED = "<!-- Written by `python -m tests.documentation`; a test compares it with the code. -->"


def errors_page() -> str:
    """Every kind of error, who must act, and the exit code of a run that ends with it."""
    rows = [
        f"| {'&nbsp;' * 4 * depth}`{kind.__name__}` | {_exit_of(kind)} | {_first_line(kind)} |"
        for kind, depth in _kinds(CortexError, 0)
    ]
    codes = [f"| {code.value} | `{code.name}` |" for code in ExitCode]
    return "\n".join(
        [
            "# Errors and exit codes",
            "",
            GENERATED,
            "",
            "Errors are sorted by who must act. The user corrects an argument or a file (exit "
            "code 2). The world has to come back: a model, a server, a disk (1). A mistake of the "
            "model is a value that the next plan is written with, and no error of a run. "
            "Everything else is a bug of ours: its traceback goes to `logs/cortex-r.log`, and one "
            "line on stderr names that file.",
            "",
            "| kind | exit code | when |",
            "| --- | --- | --- |",
            *rows,
            "",
            "| exit code | name in the code |",
            "| --- | --- |",
            *codes,
            "",
            "What each code means to a script stands in the [README](../README.md#use-it) and in "
            "`agent.py --help`.",
            "",
        ]
    )


def _kinds(kind: type[CortexError], depth: int) -> Iterator[tuple[type[CortexError], int]]:
    yield kind, depth
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from _kinds(child, depth + 1)


def _exit_of(kind: type[CortexError]) -> str:
    if kind is CortexError or issubclass(kind, errors.CallRefused):
        return ""
    return str(int(exit_code_of(kind.__new__(kind))))


def _first_line(kind: type[CortexError]) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0].replace("|", "\\|")


def settings_page() -> str:
    """Every key of the profile with its type, its default and what it does."""
    lines = [
        "# Settings of the profile",
        "",
        GENERATED,
        "",
        "The profile is `config/profiles.yaml`, or the file that `--profile` names. Defaults are "
        "those of a profile that leaves the key out; the shipped profile sets some of them "
        "otherwise. An unknown key or value is an error that names file, line, key and what is "
        "allowed.",
        "",
    ]
    for name, field in AgentProfile.model_fields.items():
        section = _section(field)
        lines += [f"## {name}", "", _told(section), ""]
        lines += ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
        lines += _rows(section, "")
        lines += [""]
    return "\n".join(lines)


def _section(field: FieldInfo) -> type[BaseModel]:
    found: list[object] = [field.annotation, *get_args(field.annotation)]
    return next(kind for kind in found if isinstance(kind, type) and issubclass(kind, BaseModel))


def _told(section: type[BaseModel]) -> str:
    return " ".join((inspect.getdoc(section) or "").split("\n\n")[0].split())


def _rows(section: type[BaseModel], prefix: str) -> list[str]:
    told = _docstrings(section)
    kinds: dict[str, JsonObject] = section.model_json_schema()["properties"]
    rows: list[str] = []
    for name, field in section.model_fields.items():
        if inspect.isclass(field.annotation) and issubclass(field.annotation, BaseModel):
            rows += _rows(field.annotation, f"{prefix}{name}.")
            continue
        default = "required" if field.is_required() else f"`{_shown(field)}`"
        meaning = told[name].replace("|", "\\|")
        rows.append(f"| `{prefix}{name}` | {_kind(kinds[name])} | {default} | {meaning} |")
        for kind in get_args(field.annotation):
            if name == "roles" and inspect.isclass(kind) and issubclass(kind, BaseModel):
                rows += _rows(kind, f"{prefix}{name}.NAME.")
    return rows


def _shown(field: FieldInfo) -> str:
    value: object = field.get_default(call_default_factory=True)
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, cast('tuple[object, ...]', value)))}]"
    return json.dumps(value) if value is None or value in (True, False, "") else f"{value}"


def _kind(schema: JsonObject) -> str:
    """A type in a few words, from its JSON Schema."""
    match schema:
        case {"enum": [*options]}:
            return " \\| ".join(f"`{option}`" for option in options)
        case {"anyOf": [*either]}:
            return " or ".join(_kind(each) for each in either if isinstance(each, dict))
        case {"items": dict(each)}:
            return f"list of {_kind(each)}"
        case {"type": str(kind)}:
            return _KINDS.get(kind, kind) + _bounds(schema)
        case _:
            return "any"


_KINDS = {
    "string": "text",
    "integer": "whole number",
    "boolean": "true or false",
    "object": "map",
    "array": "list",
}


def _bounds(schema: JsonObject) -> str:
    words = {"minimum": "from", "exclusiveMinimum": "over", "maximum": "to"}
    told = [f"{word} {_number(schema[key])}" for key, word in words.items() if key in schema]
    return f", {' '.join(told)}" if told else ""


def _number(value: Json) -> str:
    return str(value).removesuffix(".0")


def _docstrings(of: type[BaseModel] | ModuleType) -> dict[str, str]:
    """The text under each field of a section, or constant of a module, by its name."""
    body = ast.parse(inspect.getsource(of)).body
    if len(body) == 1 and isinstance(body[0], ast.ClassDef):
        body = body[0].body
    told: dict[str, str] = {}
    for field, below in pairwise(body):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                told[name] = " ".join(text.split())
            case _:
                pass
    return told


def commands_page() -> str:
    """What `--help` says of every command and each of its actions."""
    lines = ["# Commands", "", GENERATED, "", *_help()]
    for command in sorted(COMMANDS):
        lines += [f"## {command}", "", *_help(command)]
        for action in sorted(ACTIONS.get(command, ())):
            lines += [f"### {command} {action}", "", *_help(command, action)]
    return "\n".join(lines)


def _help(*words: str) -> list[str]:
    with tempfile.TemporaryDirectory() as home:
        told = agent(Path(home), *words, "--help", env=environment(Path(home), COLUMNS="80"))
    assert told.code == 0, told.err
    return ["```text", told.out.rstrip(), "```", ""]


def architecture_page() -> str:
    """The page as it stands, with the tree between its marks written from the folders' docstrings.

    A folder's line is the first of its `__init__.py`.
    """
    rows = [
        f"| `{folder.relative_to(DOCS.parent)}/` | {_purpose(folder)} |"
        for layer in LAYERS
        for folder in sorted({file.parent for file in (DOCS.parent / layer).rglob("*.py")})
    ]
    table = ["| folder | what it is for |", "| --- | --- |", *rows]
    return _between("architecture.md", TREE_BEGINS, TREE_ENDS, table)


def scripting_page() -> str:
    """The page as it stands, with the tables of what is printed written from its schemas."""
    line = SCHEMAS["line"]()["$defs"]
    assert isinstance(line, dict)
    lines = ["| type | fields beside `type` and `schema` | when |", "| --- | --- | --- |"]
    for name, schema in line.items():
        match schema:
            case {"properties": dict(fields), "description": str(told)} if "type" in fields:
                names = ", ".join(
                    f"`{field}`" for field in fields if field not in ("type", "schema")
                )
                when = told.partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")
                lines.append(f"| `{name}` | {names} | {when} |")
            case _:
                pass
    return _between("scripting.md", SCHEMAS_BEGIN, SCHEMAS_END, lines)


def team_page() -> str:
    """The page as it stands, with the table of roles written from the presets."""
    rows = ["| role | purpose | tools |", "| --- | --- | --- |"]
    for role in roles_of(TeamSection()).values():
        servers = [f"all of `{server}`" for server in role.servers]
        tools = [f"`{tool}`" for tool in role.tools if not role.has_all_tools]
        may = ["all"] if role.has_all_tools else [*servers, *tools] or ["none"]
        rows.append(f"| `{role.name}` | {role.purpose} | {', '.join(may)} |")
    return _between("team.md", ROLES_BEGIN, ROLES_END, rows)


def tracing_page() -> str:
    """The page as it stands, with the tables of names written from what spans and metrics have."""
    attributes = ["| attribute | set on | what it is |", "| --- | --- | --- |"]
    rest = ["", "| event or error | where | what it is |", "| --- | --- | --- |"]
    for constant, text in _docstrings(names).items():
        where, _, what = text.partition(": ")
        name = vars(names)[constant]
        if not what or not isinstance(name, str):
            continue
        table = rest if where.startswith(("Event of", "Error of")) else attributes
        table.append(f"| `{name}` | {where.lower()} | {what} |")
    metrics = ["", "| metric | unit | what it is |", "| --- | --- | --- |"]
    for metric in (names.TOKEN_USAGE, names.DURATION, names.TIME_TO_FIRST_CHUNK, names.SPENT):
        metrics.append(f"| `{metric.name}` | `{metric.unit}` | {metric.description} |")
    return _between("tracing.md", NAMES_BEGIN, NAMES_END, [*attributes, *rest, *metrics])


def http_page() -> str:
    """The page as it stands, with its tables written from endpoints, events and problems."""
    page = (DOCS / "http.md").read_text(encoding="utf-8")
    for section, rows in SECTIONS.items():
        begins = re.search(rf"<!-- {section}: .* -->", page)
        assert begins, f"docs/http.md has lost its mark of {section}"
        page = _put_between(page, begins[0], f"<!-- end of {section} -->", rows())
    return page


def _between(name: str, begins: str, ends: str, lines: Sequence[str]) -> str:
    """A page of docs/ with these lines between two marks."""
    return _put_between((DOCS / name).read_text(encoding="utf-8"), begins, ends, lines)


def _put_between(page: str, begins: str, ends: str, lines: Sequence[str]) -> str:
    before, opening, rest = page.partition(begins)
    _, closing, after = rest.partition(ends)
    assert closing, f"a page of docs/ has lost its marks {begins} and {ends}"
    return "\n".join([before + opening, *lines, closing + after])


def _purpose(folder: Path) -> str:
    told = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    assert told, f"{folder}/__init__.py does not say what the folder is for"
    return told.partition("\n")[0]


def terminal_page() -> str:
    """The page as it stands, with the commands at the prompt from their table."""
    page = (DOCS / "terminal.md").read_text(encoding="utf-8")
    before, opening, rest = page.partition(COMMANDS_BEGIN)
    _, closing, after = rest.partition(COMMANDS_END)
    assert closing, "docs/terminal.md has lost the marks around its commands"
    rows = ["| command | does | more |", "| --- | --- | --- |"]
    for command in COMMANDS_AT_PROMPT:
        cells = (f"`{command.usage}`", command.summary, " ".join(command.details.split()))
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join([before + opening, *rows, closing + after])


COMMANDS_BEGIN = (
    "<!-- commands: written by `python -m tests.documentation` from the table of commands -->"
)
COMMANDS_END = "<!-- end of commands -->"
LAYERS = ("config", "core", "modules", "servers")
TREE_BEGINS = (
    "<!-- tree: written by `python -m tests.documentation` from the folders' own docstrings -->"
)
TREE_ENDS = "<!-- end of tree -->"
SCHEMAS_BEGIN = (
    "<!-- schemas: written by `python -m tests.documentation` from the types that are printed -->"
)
SCHEMAS_END = "<!-- end of schemas -->"
ROLES_BEGIN = "<!-- roles: written by `python -m tests.documentation` from the presets -->"
ROLES_END = "<!-- end of roles -->"
NAMES_BEGIN = (
    "<!-- names: written by `python -m tests.documentation` from modules/trace/otel/names.py -->"
)
NAMES_END = "<!-- end of names -->"
DOCS = Path(__file__).parents[2] / "docs"

PAGES = {
    "architecture.md": architecture_page,
    "commands.md": commands_page,
    "errors.md": errors_page,
    "http.md": http_page,
    "scripting.md": scripting_page,
    "settings.md": settings_page,
    "team.md": team_page,
    "terminal.md": terminal_page,
    "tracing.md": tracing_page,
}
"""Each generated page of docs/ and what makes it."""
