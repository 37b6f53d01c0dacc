"""One value of a YAML text set, and every other character, comments too, left as it is."""

from collections.abc import Sequence
from typing import Final, TypeAlias, cast

import yaml

from config.texts import TextProblem, compose_yaml, load_yaml

Raw: TypeAlias = "dict[str, Raw] | list[Raw] | str | int | float | bool | None"
"""A value as it stands in a file."""

_BLOCK_STYLES: Final = ("|", ">")


def with_value(text: str, keys: Sequence[str], value: Raw) -> str:
    """The text with `value` under a path of keys; an element of a list goes by number or `id`.

    A key or section that is missing is put in. What comes out is read again: it must say what
    the text said, but for that value.

    Raises:
        TextProblem: the place can't be edited safely, or there is none; its line is named.
    """
    whole = compose_yaml(text)
    if not isinstance(whole, yaml.MappingNode):
        raise TextProblem("there is no section at the top")
    changed = _edited(text, whole, keys, value)
    if load_yaml(changed) != _set(cast("Raw", load_yaml(text)), keys, value):
        raise TextProblem("the text around it is too intricate to be edited", _line(whole))
    return changed


def value_at(document: Raw, keys: Sequence[str]) -> Raw:
    """The value under a path of keys.

    Raises:
        KeyError: there is none; the key that is missing is named.
    """
    for key in keys:
        document = _inside(document, key)
    return document


def _edited(text: str, node: yaml.Node, keys: Sequence[str], value: Raw) -> str:
    key, *rest = keys
    below = _child(node, key)
    if below is None:
        return _inserted(text, node, key, _nested(rest, value))
    if rest and isinstance(below, yaml.CollectionNode) and below.value:
        return _edited(text, below, rest, value)
    is_block = isinstance(below, yaml.CollectionNode) and not below.flow_style
    if is_block or (isinstance(below, yaml.ScalarNode) and below.style in _BLOCK_STYLES):
        raise TextProblem(f"'{key}' stands over several lines; edit it there", _line(below))
    start, end = _offset(text, below.start_mark), _offset(text, below.end_mark)
    space = "" if text[:start].endswith((" ", "\n")) else " "
    return f"{text[:start]}{space}{_flow(_nested(rest, value))}{text[end:]}"


def _inserted(text: str, node: yaml.Node, key: str, value: Raw) -> str:
    """A further key in a section, on a line of its own above the first."""
    if not isinstance(node, yaml.MappingNode):
        raise TextProblem(f"there is no element '{key}' here", _line(node))
    if node.flow_style:
        raise TextProblem(f"'{key}' is to stand in a section in braces; edit it", _line(node))
    first: yaml.Node = node.value[0][0]
    if first.start_mark.column == 0:
        return f"{text.rstrip()}\n\n{key}: {_flow(value)}\n"
    start = _offset(text, first.start_mark)
    return f"{text[:start]}{key}: {_flow(value)}\n{' ' * first.start_mark.column}{text[start:]}"


def _child(node: yaml.Node, key: str) -> yaml.Node | None:
    match node:
        case yaml.MappingNode():
            return next((below for name, below in node.value if name.value == key), None)
        case yaml.SequenceNode():
            elements: list[yaml.Node] = node.value
            if key.isdigit():
                return elements[int(key)] if int(key) < len(elements) else None
            named = ((_child(element, "id"), element) for element in elements)
            return next((e for name, e in named if name is not None and name.value == key), None)
        case _:
            return None


def _inside(document: Raw, key: str) -> Raw:
    match document:
        case dict() if key in document:
            return document[key]
        case list() if key.isdigit() and int(key) < len(document):
            return document[int(key)]
        case list():
            for each in document:
                if isinstance(each, dict) and each.get("id") == key:
                    return each
        case _:
            pass
    raise KeyError(key)


def _set(document: Raw, keys: Sequence[str], value: Raw) -> Raw:
    """The document with the value in it, as the edited text should read."""
    if not keys:
        return value
    key, *rest = keys
    if isinstance(document, list):
        found = _inside(document, key)
        return [_set(each, rest, value) if each is found else each for each in document]
    section = document if isinstance(document, dict) else {}
    return {**section, key: _set(section.get(key), rest, value)}


def _nested(keys: Sequence[str], value: Raw) -> Raw:
    for key in reversed(keys):
        value = {key: value}
    return value


def _flow(value: Raw) -> str:
    """The value on one line."""
    shown = yaml.safe_dump(value, default_flow_style=True, width=2**31, allow_unicode=True)
    return shown.removesuffix("\n").removesuffix("\n...").rstrip()


def _offset(text: str, mark: yaml.Mark) -> int:
    line_start = 0
    for _ in range(mark.line):
        line_start = text.index("\n", line_start) + 1
    return line_start + mark.column


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1
