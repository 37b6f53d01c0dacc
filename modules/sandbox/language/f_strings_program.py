r"""Writes the f-strings of a plan that this Python can't read in a form that it can (PEP 701).

A program of its own, because libcst's parser works in native code without bounds: it can use up its
stack, which ends the process, or take minutes for a few kilobytes. So it runs in a process with
limits, started by `modules.sandbox.language.f_strings`: the plan on stdin, the rewritten one on
stdout.

`f"{row["name"]:>9} {x}"` becomes `"{:>9} {}".format((row["name"]), (x))`. Everything else stays as
it is, byte for byte, and so does the number of lines.
"""

import ast
import resource
import sys
from collections.abc import Iterator, Sequence

import libcst

CPU_SECONDS = 2
MEMORY_BYTES = 1024**3
FAILED = 3
"""Exit code where the plan can't be rewritten."""


class NotRewritten(Exception):
    """A form that `str.format` has no equal for."""


class _Rewriter(libcst.CSTTransformer):
    """Replaces f-strings as wholes; those inside of them are replaced where they are read."""

    def visit_ConcatenatedString(self, node: libcst.ConcatenatedString) -> bool:
        return False

    def visit_FormattedString(self, node: libcst.FormattedString) -> bool:
        return False

    def leave_ConcatenatedString(
        self, original_node: libcst.ConcatenatedString, updated_node: libcst.ConcatenatedString
    ) -> libcst.BaseExpression:
        return _readable(updated_node)

    def leave_FormattedString(
        self, original_node: libcst.FormattedString, updated_node: libcst.FormattedString
    ) -> libcst.BaseExpression:
        return _readable(updated_node)


def _readable(
    node: libcst.ConcatenatedString | libcst.FormattedString,
) -> libcst.BaseExpression:
    """A text in a form that this Python reads; as it is, where that is one."""
    try:
        ast.parse(f"({_code(node)}\n)")
    except SyntaxError:
        plain = node.with_changes(lpar=(), rpar=())
        call = libcst.parse_expression(_as_format_call(plain))
        return call.with_changes(lpar=node.lpar, rpar=node.rpar)
    return node


def _as_format_call(node: libcst.BaseExpression) -> str:
    values: list[str] = []
    template = "".join(_template(node, values))
    return f"{template}.format({', '.join(values)})"


def _template(node: libcst.BaseExpression, values: list[str]) -> Iterator[str]:
    """The text that is formatted, as source; what it shows is added to `values`, in order."""
    match node:
        case libcst.ConcatenatedString():
            yield from _template(node.left, values)
            yield _code(node.whitespace_between)
            yield from _template(node.right, values)
        case libcst.FormattedString():
            start = node.start.replace("f", "").replace("F", "")
            fields = "".join(_fields(node.parts, values, start, node.end))
            yield f"{start}{fields}{node.end}"
        case libcst.SimpleString():
            escaped = node.raw_value.replace("{", "{{").replace("}", "}}")
            literal = f"{node.prefix}{node.quote}{escaped}{node.quote}"
            if str(ast.literal_eval(literal)).format() != ast.literal_eval(node.value):
                raise NotRewritten("an escape with braces")
            yield literal
        case _:
            raise NotRewritten(type(node).__name__)


def _fields(
    parts: Sequence[libcst.BaseFormattedStringContent], values: list[str], start: str, end: str
) -> Iterator[str]:
    for part in parts:
        match part:
            case libcst.FormattedStringText():
                text = str(ast.literal_eval(f"{start}{part.value}{end}"))
                if {"{", "}"} & {*text.replace("{{", "").replace("}}", "")}:
                    raise NotRewritten("an escaped brace")
                yield part.value
            case libcst.FormattedStringExpression():
                yield from _field(part, values, start, end)
            case _:
                raise NotRewritten(type(part).__name__)


def _field(
    part: libcst.FormattedStringExpression, values: list[str], start: str, end: str
) -> Iterator[str]:
    before = _code(part.whitespace_before_expression)
    after = _code(part.whitespace_after_expression)
    shown = f"{before}{_code(part.expression)}{after}"
    conversion = part.conversion
    if part.equal is not None:
        values.append(repr(f"{shown}{_code(part.equal)}"))
        yield "{}"
        conversion = conversion or ("r" if part.format_spec is None else None)
    inner = libcst.ensure_type(part.expression.visit(_Rewriter()), libcst.BaseExpression)
    values.append(f"({before}{_code(inner)}{after})")
    yield f"{{!{conversion}" if conversion else "{"
    if part.format_spec is not None:
        yield ":"
        yield from _fields(part.format_spec, values, start, end)
    yield "}"


def _code(node: libcst.CSTNode) -> str:
    return libcst.Module([]).code_for_node(node)


def older_form(source: str) -> str:
    """The plan with such f-strings rewritten.

    Raises:
        NotRewritten: it would not be the same plan.
        Exception: it is no Python, or this Python can't read it for another reason.
    """
    text = libcst.parse_module(source).visit(_Rewriter()).code
    ast.parse(text)
    if text.count("\n") != source.count("\n"):
        raise NotRewritten("lines would move")
    return text


def main() -> int:
    """Rewrite what is on stdin; 0 if that worked."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        text = older_form(sys.stdin.buffer.read().decode())
    except Exception:  # noqa: BLE001 - whatever it is, the plan stays as it was
        return FAILED
    sys.stdout.buffer.write(text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
