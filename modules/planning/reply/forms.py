"""Forms in which models write calls and answers, other than Python and plain JSON: one table.

Each model family has been trained on marks of its own, and writes them where its server does not
know them. What is read here are calls as values; `modules.planning.reply.calls` makes a plan of
them, which is checked like any other. All of it is bounded, and a form whose end is missing is
none: what is missing could change what it says.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias, cast

from core.base.frozen import frozen
from core.base.text import lazy_pattern
from core.ports import NativeToolCall
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from modules.sandbox.language import NotParsed, parse

OBJECT_CHARACTERS_MAX: Final = 4 * 1024
"""Longest object that is mended, and longest call that is read."""

MENDED_DEPTH_MAX: Final = 20
"""json-repair takes time by the square of the depth: half a second for 2,000 open braces."""

MENDED_MAX: Final = 10
"""How many objects of one reply are mended."""

FOUND_MAX: Final = 50
"""How many calls of one form are read."""

OPENED_MAX: Final = 200
"""How many openings of one form are looked at."""

_PREFIXES: Final = ("functions.", "tools.", "mcp.")
"""What models write before a tool's name where nobody asked for it."""

_FINAL_NAMES: Final = frozenset(
    {
        *("final", "final_answer", "finalanswer", "final answer", "finish", "answer", "respond"),
        *("final_response", "response", "submit", "submit_answer", "done"),
    }
)
"""What an action is called that is no tool and ends the work."""

_FINAL_KEYS: Final = (
    *("final_answer", "answer", "action_input", "content", "response", "result", "output"),
    *("message", "text", "value", "input", "arguments", "args", "parameters", "tool_input"),
)
"""Under which key such an action has the answer; the first that is there counts."""

_CODE_KEYS: Final = ("code", "plan", "python", "python_code", "solution", "script", "source")
"""Under which key JSON has a plan."""

_CODE_NAMES: Final = frozenset(
    {"python", "python_interpreter", "code_interpreter", "execute", "execute_python", "run_python"}
)
"""What a tool is called that would run the plan, where nobody offered one."""

_NAME: Final = r"[`*\"']{0,3}(?:functions\.|tools\.)?(?P<name>[A-Za-z_][\w.-]{0,150})(?::\d{1,4})?"

_NAMED_OBJECT: Final = lazy_pattern(
    rf"""(?xi)
    (?: <\|tool_call_begin\|> \s* {_NAME} \s* <\|tool_call_argument_begin\|>  # Kimi
      | <｜tool▁(?:call▁begin|sep)｜> {_NAME} \s* (?:<｜tool▁sep｜>)?          # DeepSeek
      | \[TOOL_CALLS\] \s* {_NAME} \s* (?:\[CALL_ID\]\w{{1,40}})? (?:\[ARGS\])?  # Mistral
      | <function= {_NAME} \s* >                                               # Llama
      | ^[ \t*]* Action [*]* [ \t]* : [*]* [ \t]* {_NAME} [`*"']{{0,3}}
        \s* Action[ _]Input [*]* [ \t]* : [*]*                                 # ReAct
      | ✿FUNCTION✿ : \s* {_NAME} \s* ✿ARGS✿ :                                  # Qwen-Agent
      | >>> {_NAME} \n                                                         # Functionary
      | <tool_call> \s* {_NAME} \s* \n                                         # GLM, older
      | \A \s* {_NAME} \s* \n )                                                # GLM-4-9B
    \s* (?:```(?:json)?\s*)? (?=[\[{{])
    """.replace("(?P<name>", "("),
    re.MULTILINE,
)

_INVOKED: Final = lazy_pattern(
    r"""(?x)
    <(?P<prefix>(?:｜DSML｜|\w{1,20}:)?) (?P<tag>invoke|function) (?: \s+name\s*=\s*["']? | = )
    (?P<name>[\w.:-]{1,150}) ["']? \s* >
    """
)

_PARAMETER: Final = lazy_pattern(
    r"""(?x)
    <(?P<prefix>(?:｜DSML｜|\w{1,20}:)?) (?P<tag>parameter) (?: \s+name\s*=\s*["']? | = )
    (?P<name>[\w.-]{1,150}) ["']? [^>\n]{0,100} >
    """
)

_GLM: Final = lazy_pattern(
    r"<(?P<prefix>)(?P<tag>tool_call)>\s*(?P<name>[\w.:-]{1,150})\s*(?=<arg_key>)"
)

_GLM_ARGUMENT: Final = lazy_pattern(
    r"<arg_key>\s*(?P<name>[\w.-]{1,150})\s*</arg_key>\s*<(?P<prefix>)(?P<tag>arg_value)>"
)

_NAMED_ELEMENTS: Final = lazy_pattern(
    r"""(?x)
    <(?:tool_name|tool|function_name|name)> \s* (?P<name>[\w.:-]{1,150}) \s*
    </(?:tool_name|tool|function_name|name)> \s*
    <(?P<prefix>)(?P<tag>parameters|arguments|args|tool_input|input)>
    """
)

_TOOL_ELEMENT: Final = lazy_pattern(r"<(?P<prefix>)(?P<tag>(?P<name>[A-Za-z_]\w{1,100}))>")

_CHILD: Final = lazy_pattern(r"\s*<(?P<name>[A-Za-z_]\w{0,100})>(?P<value>[^<]*)</(?P=name)>\s*")

_MARKED_CALLS: Final = lazy_pattern(
    r"<\|tool_call_start\|>|<\|python_tag\|>|<tool_code>"
    r"|^Action:(?=[ \t]*`?[\w.]{1,150}\()|\A\s*(?=\[)",
    re.MULTILINE,
)

_MARKED_ENDS: Final = {
    "<|tool_call_start|>": ("<|tool_call_end|>",),
    "<|python_tag|>": ("<|eom_id|>", "<|eot_id|>", ""),
    "<tool_code>": ("</tool_code>",),
    "Action:": ("\n", ""),
    "": ("",),
}
"""What ends such calls; the empty text is the reply's own end."""

_GEMMA: Final = lazy_pattern(
    r"(?:<start_function_call>|<\|tool_call>)\s*call:(?P<name>[\w.-]{1,150})(?={)"
)

_ACTION: Final = lazy_pattern(
    r"^[ \t*]*Action[*]*[ \t]*:[*]*[ \t]*[`\"']?(?P<name>[\w.-]{1,150})[`\"']?[ \t]*\n"
    r"[ \t*]*Action[ _]Input[*]*[ \t]*:[*]*[ \t]*(?P<text>[^\n]{1,2000})$",
    re.MULTILINE | re.IGNORECASE,
)

_ATTEMPT: Final = lazy_pattern(
    r"<\|?/?(?:tool|function|start_function|tools?_call|invoke|python_tag)|｜tool|｜DSML"
    r"|\[TOOL_CALLS\]|\[ARGS\]|tool_calls?_(?:begin|start)|✿FUNCTION✿|^[ \t*]*Action[ \t*]*:"
    r"|\basync[ \t]+def\b|\btools\.\w+\(|\bmcp\.call_tool\(|\"(?:tool|function|tool_call)s?\"\s*:"
    r"|['\"](?:arguments|parameters|args|action_input|tool_input)['\"]\s*:",
    re.MULTILINE | re.IGNORECASE,
)
"""Shows that a reply means to call something, though nothing of it could be read."""

Read: TypeAlias = Callable[[str, ToolCatalog], Iterator[NativeToolCall]]


@frozen
class Form:
    """One form: whose it is, an example that calls `add` with 5 and 7, and what reads it."""

    name: str
    example: str
    read: Read


def tool_meant(name: str, tools: ToolCatalog) -> ToolSpec | None:
    """The tool that a model means by a name of its own making: `functions.add`, `math_add`."""
    for prefix in ("", *_PREFIXES):
        if name.startswith(prefix) and (tool := tools.lookup(name.removeprefix(prefix))):
            return tool
    server, _, rest = name.partition("_")
    return tools.lookup(f"{server}.{rest}") if rest else None


def means_to_call(text: str) -> bool:
    """Whether a reply shows the marks of a call or a plan, whether or not they can be read."""
    return _ATTEMPT.search(text) is not None


def calls_in_forms(text: str, tools: ToolCatalog) -> tuple[NativeToolCall, ...]:
    """The calls of the first form in the table that a text has; none where it has none."""
    for read in dict.fromkeys(form.read for form in FORMS):
        if found := [call for call, _ in zip(read(text, tools), range(FOUND_MAX), strict=False)]:
            return tuple(found)
    return ()


def answer_of_call(call: NativeToolCall, tools: ToolCatalog) -> str | None:
    """What a call says that is none: `final_answer(answer="Paris")`; None for any other."""
    if call.name.lower() not in _FINAL_NAMES or tool_meant(call.name, tools) is not None:
        return None
    return _said(call.arguments)


def code_of_call(call: NativeToolCall, tools: ToolCatalog) -> str | None:
    """The code that a call would have run by a tool that nobody offered."""
    if call.name.lower() not in _CODE_NAMES or tool_meant(call.name, tools) is not None:
        return None
    return code_in_json(call.arguments)


def answer_in_json(value: JsonObject, tools: ToolCatalog) -> str | None:
    """The answer of `{"action": "final", "answer": …}`, or of a lone `{"final_answer": …}`."""
    for key in ("action", "type", "tool", "name", "function"):
        match value.get(key):
            case str(name) if name.lower() in _FINAL_NAMES and tool_meant(name, tools) is None:
                return _said({k: v for k, v in value.items() if k != key})
            case _:
                continue
    others = {key for key in value if key not in ("thought", "reasoning", "explanation")}
    return _said(value) if others in ({"final_answer"}, {"answer"}) else None


def code_in_json(value: JsonObject) -> str | None:
    """The code of `{"code": "…"}`, whatever stands beside it."""
    found = (value.get(key) for key in _CODE_KEYS)
    return next((code for code in found if isinstance(code, str) and code.strip()), None)


def _said(value: JsonObject) -> str | None:
    for key in _FINAL_KEYS:
        match value.get(key):
            case str(text) if text.strip():
                return text.strip()
            case dict() as inner:
                return _said(inner)
            case bool() | int() | float() | list() as said if said != []:
                return json.dumps(said, ensure_ascii=False)
            case _:
                continue
    return None


def mended_objects(text: str) -> Iterator[tuple[str, JsonObject]]:
    """Objects that are nearly JSON: in single quotes, with commas too many, names without quotes.

    None is made whole: one that doesn't end is none.
    """
    at = 0
    for _ in range(MENDED_MAX):
        if (at := text.find("{", at)) < 0:
            return
        written = _balanced(text, at)
        if written is not None and isinstance(value := _mended(written), dict):
            yield written, value
        at += len(written or "{")


def _mended(written: str) -> Json:
    """What an object says; None where it can't be told."""
    try:
        return cast("Json", json.loads(written))
    except (ValueError, RecursionError):
        pass
    # Imported where JSON is broken, for it takes some 50 ms. MIT, without dependencies.
    import json_repair

    try:
        return cast("Json", json_repair.loads(written))
    except (ValueError, RecursionError):
        return None


def _balanced(text: str, at: int) -> str | None:
    """The object that begins at `at`, up to its own closing brace; None if that is missing."""
    depth, quote, before = 0, "", ""
    escaped = False
    for end in range(at, min(len(text), at + OBJECT_CHARACTERS_MAX)):
        mark = text[end]
        if quote:
            ends, escaped = mark == quote and not escaped, mark == "\\" and not escaped
            if ends:
                quote = ""
        elif mark == '"' or (mark == "'" and before in "{[,:("):
            quote = mark
        elif mark in "{[":
            depth += 1
            if depth > MENDED_DEPTH_MAX:
                return None
        elif mark in "}]":
            depth -= 1
            if depth == 0:
                return text[at : end + 1]
        if not mark.isspace():
            before = mark
    return None


def _named_objects(text: str, tools: ToolCatalog) -> Iterator[NativeToolCall]:
    """A name and its arguments as JSON, with marks between them."""
    for found, _ in zip(_NAMED_OBJECT.finditer(text), range(OPENED_MAX // 4), strict=False):
        written = _balanced(text, found.end())
        value = _mended(written) if written is not None else None
        name = next(filter(None, found.groups()), "").strip(".")
        known = tool_meant(name, tools) is not None
        is_marked = found.group().lstrip()[:1] in "<[✿>" or "ction" in found.group()
        if isinstance(value, dict) and name and (known or is_marked):
            yield NativeToolCall(name, value)


def _actions(text: str, tools: ToolCatalog) -> Iterator[NativeToolCall]:
    """ReAct's action with an input that is no object: of a tool with one parameter, its value."""
    for found in _ACTION.finditer(text):
        tool = tool_meant(found["name"], tools)
        given = found["text"].strip().strip("`")
        if tool is None or not tool.parameters:
            continue
        if len(tool.parameters) == 1:
            parameter = tool.parameters[0]
            given = given.strip("\"'")
            yield NativeToolCall(found["name"], {parameter.name: _typed(given, parameter.schema)})
        else:
            yield from _calls_in_python(f"{found['name']}({given})", tools)


def _elements(text: str, tools: ToolCatalog) -> Iterator[NativeToolCall]:
    """A call whose arguments are elements."""
    for whole, argument in ((_INVOKED, _PARAMETER), (_GLM, _GLM_ARGUMENT)):
        for name, body in _bodies(whole, text):
            arguments = [*_bodies(argument, body)]
            if arguments or not body.strip():
                yield _call_of_texts(name, arguments, tools)
    for name, body in _bodies(_NAMED_ELEMENTS, text):
        yield from _of_body(name, body, tools)
    for name, body in _bodies(_TOOL_ELEMENT, text):
        if tool_meant(name, tools) is not None:
            yield from _of_body(name, body, tools)


def _bodies(opening: re.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    """The elements that a pattern opens: their names, and what stands in those that are closed."""
    for found, _ in zip(opening.finditer(text), range(OPENED_MAX), strict=False):
        end = f"</{found['prefix']}{found['tag']}>"
        at = text.find(end, found.end(), found.end() + OBJECT_CHARACTERS_MAX)
        if at >= 0:
            yield found["name"], text[found.end() : at]


def _of_body(name: str, body: str, tools: ToolCatalog) -> Iterator[NativeToolCall]:
    """The call of a body that is an object, or that consists of one element an argument."""
    if body.lstrip().startswith("{"):
        if isinstance(value := _mended(body.strip()), dict):
            yield NativeToolCall(name, value)
        return
    children = [*_CHILD.finditer(body)]
    if "".join(child.group() for child in children) == body:
        yield _call_of_texts(name, [(c["name"], c["value"]) for c in children], tools)


def _python_calls(text: str, tools: ToolCatalog) -> Iterator[NativeToolCall]:
    """Calls as Python between marks."""
    for found, _ in zip(_MARKED_CALLS.finditer(text), range(OPENED_MAX), strict=False):
        ends = _MARKED_ENDS[found.group().strip()]
        room = text[found.end() : found.end() + OBJECT_CHARACTERS_MAX]
        end = next((end for end in ends if end in room), None)
        if end is not None and (end or len(room) < OBJECT_CHARACTERS_MAX):
            written = (room.partition(end)[0] if end else room).strip().strip("`")
            yield from _calls_in_python(written.replace(".call(", "("), tools)


def _calls_in_python(written: str, tools: ToolCatalog) -> Iterator[NativeToolCall]:
    """The calls of known tools with literal arguments that a text consists of."""
    try:
        statements = parse(written).body
    except (SyntaxError, ValueError, NotParsed, RecursionError):
        return
    for statement in statements:
        value = statement.value if isinstance(statement, ast.Expr) else None
        items = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
        for item in items:
            if (call := call_in_python(item, tools)) is not None:
                yield call


def call_in_python(node: ast.expr | None, tools: ToolCatalog) -> NativeToolCall | None:
    """`multiply(17, 23)`: a call of a known tool with literal arguments."""
    node = node.value if isinstance(node, ast.Await) else node
    if not isinstance(node, ast.Call):
        return None
    name = ast.unparse(node.func)
    tool = tool_meant(name, tools)
    if tool is None or len(node.args) > len(tool.parameters):
        return None
    try:
        pairs = zip(tool.parameters, node.args, strict=False)
        given: JsonObject = {p.name: cast("Json", ast.literal_eval(a)) for p, a in pairs}
        for keyword in node.keywords:
            if keyword.arg:
                given[keyword.arg] = cast("Json", ast.literal_eval(keyword.value))
    except (ValueError, TypeError, RecursionError):
        return None
    return NativeToolCall(name, given)


def _gemma_calls(text: str, tools: ToolCatalog) -> Iterator[NativeToolCall]:
    """Gemma's `call:add{a:5}`, texts between marks of its own."""
    for found in _GEMMA.finditer(text):
        body = text[found.end() : found.end() + OBJECT_CHARACTERS_MAX]
        written = _balanced(re.sub(r'<escape>|<\|"\|>', '"', body), 0)
        value = _mended(written) if written is not None else None
        if isinstance(value, dict):
            texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in value.items()}
            yield _call_of_texts(found["name"], [*texts.items()], tools)


def _call_of_texts(
    name: str, arguments: Sequence[tuple[str, str]], tools: ToolCatalog
) -> NativeToolCall:
    """A call whose arguments came as texts: what each is, the tool's schema says."""
    tool = tool_meant(name, tools)
    schemas = {p.name: p.schema for p in tool.parameters} if tool is not None else {}
    given = {key: _typed(value.strip("\n"), schemas.get(key, {})) for key, value in arguments}
    return NativeToolCall(name, given)


def _typed(text: str, schema: JsonObject) -> Json:
    """A text as a value of the schema's type."""
    if schema.get("type") == "string":
        return text
    try:
        return cast("Json", json.loads(text))
    except (ValueError, RecursionError):
        return text


FORMS: Final = (
    Form("Kimi", "<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0"
         '<|tool_call_argument_begin|>{"a": 5, "b": 7}<|tool_call_end|><|tool_calls_section_end|>',
         _named_objects),
    Form("DeepSeek V3 and R1",
         "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n"
         '```json\n{"a": 5, "b": 7}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>', _named_objects),
    Form("DeepSeek V3.1", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>"
         '{"a": 5, "b": 7}<｜tool▁call▁end｜><｜tool▁calls▁end｜>', _named_objects),
    Form("Mistral", '[TOOL_CALLS]add[ARGS]{"a": 5, "b": 7}', _named_objects),
    Form("Llama, function tag", '<function=add>{"a": 5, "b": 7}</function>', _named_objects),
    Form("ReAct", 'Thought: I add.\nAction: add\nAction Input: {"a": 5, "b": 7}', _named_objects),
    Form("Qwen-Agent", '✿FUNCTION✿: add\n✿ARGS✿: {"a": 5, "b": 7}\n✿RESULT✿:', _named_objects),
    Form("Functionary", '>>>add\n{"a": 5, "b": 7}', _named_objects),
    Form("GLM-4-9B", 'add\n{"a": 5, "b": 7}', _named_objects),
    Form("Qwen3-Coder", "<tool_call>\n<function=add>\n<parameter=a>\n5\n</parameter>\n"
         "<parameter=b>\n7\n</parameter>\n</function>\n</tool_call>", _elements),
    Form("invoke", '<function_calls>\n<invoke name="add">\n<parameter name="a">5</parameter>\n'
         '<parameter name="b">7</parameter>\n</invoke>\n</function_calls>', _elements),
    Form("MiniMax", '<minimax:tool_call>\n<invoke name="add">\n<parameter name="a">5</parameter>\n'
         '<parameter name="b">7</parameter>\n</invoke>\n</minimax:tool_call>', _elements),
    Form("DeepSeek V3.2", '<｜DSML｜function_calls>\n<｜DSML｜invoke name="add">\n'
         '<｜DSML｜parameter name="a" string="false">5</｜DSML｜parameter>\n'
         '<｜DSML｜parameter name="b" string="false">7</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
         "</｜DSML｜function_calls>", _elements),
    Form("GLM-4.5", "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>5</arg_value>\n"
         "<arg_key>b</arg_key>\n<arg_value>7</arg_value>\n</tool_call>", _elements),
    Form("names and parameters as elements", "<tool_name>add</tool_name>\n<parameters>\n<a>5</a>\n"
         "<b>7</b>\n</parameters>", _elements),
    Form("the tool as an element", "<add>\n<a>5</a>\n<b>7</b>\n</add>", _elements),
    Form("LFM", "<|tool_call_start|>[add(a=5, b=7)]<|tool_call_end|>", _python_calls),
    Form("Llama, python tag", "<|python_tag|>add.call(a=5, b=7)<|eom_id|>", _python_calls),
    Form("Llama 4", "[add(a=5, b=7)]", _python_calls),
    Form("Gemma, code tag", "<tool_code>add(a=5, b=7)</tool_code>", _python_calls),
    Form("ReAct with a call", "Thought: I add.\nAction: add(a=5, b=7)", _python_calls),
    Form("FunctionGemma", "<start_function_call>call:add{a:5,b:7}<end_function_call>",
         _gemma_calls),
    Form("Gemma 4", "<|tool_call>call:add{a:5,b:7}<tool_call|>", _gemma_calls),
    Form("ReAct without JSON", "Thought: I add.\nAction: add\nAction Input: a=5, b=7", _actions),
)  # fmt: skip
"""The forms, in the order in which they are looked for."""
