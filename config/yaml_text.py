"""YAML text to a raw value: safe types only, bounded in depth, no key twice.

libyaml's loader recurses in C, so some 25,000 open brackets would end the process without a
word, and of two equal keys it silently keeps the last (YAML 1.2.2, section 3.2.1.1, forbids
them). Both are looked for in the flat stream of events before anything is built.
"""

from dataclasses import dataclass, field

import yaml

MAX_NESTING_LEVELS = 50
"""Our deepest key lies five levels down."""


class YamlProblem(Exception):
    """The text is not YAML that we read; `line` is 1-based, None where it is not known."""

    def __init__(self, message: str, line: int | None) -> None:
        """Keep the line beside the message."""
        super().__init__(message)
        self.line = line


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come yet; in a mapping, keys and values take turns."""

    is_mapping: bool
    at_key: bool = True
    keys: set[str] = field(default_factory=set[str])


def load_yaml(text: str) -> object:
    """The value in a YAML text; None for an empty one.

    Raises:
        YamlProblem: not one YAML document, nested too deeply, or a key stands twice.
    """
    try:
        _check_events(text)
        return yaml.load(text, Loader=_fast_loader())  # noqa: S506 — both are safe loaders
    except yaml.reader.ReaderError as error:
        # `position` counts bytes or characters, as the reader likes; a line early at worst.
        line = text.count("\n", 0, error.position) + 1
        message = f"character #x{ord(_character(error)):04x} may not stand in YAML"
        raise YamlProblem(message, line) from error
    except yaml.YAMLError as error:
        mark: yaml.Mark | None = getattr(error, "problem_mark", None)
        problem = str(getattr(error, "problem", None) or error)
        raise YamlProblem(problem, mark.line + 1 if mark is not None else None) from error
    except ValueError as error:  # the 32nd of May, an integer of 5,000 digits
        raise YamlProblem(str(error), _line_of_unusable_scalar(text)) from error


def compose_yaml(text: str) -> yaml.Node | None:
    """The nodes of a YAML or JSON text with their positions; None where they can't be had."""
    try:
        _check_events(text)
        return yaml.compose(text, Loader=_fast_loader())
    except (YamlProblem, yaml.YAMLError, ValueError):
        return None


def _check_events(text: str) -> None:
    opened: list[_Open] = []
    for event in yaml.parse(text, Loader=_fast_loader()):
        if isinstance(event, yaml.CollectionEndEvent):
            opened.pop()
        elif isinstance(event, yaml.NodeEvent):
            if opened and opened[-1].is_mapping:
                _note_key(opened[-1], event)
            if isinstance(event, yaml.CollectionStartEvent):
                opened.append(_Open(isinstance(event, yaml.MappingStartEvent)))
                if len(opened) > MAX_NESTING_LEVELS:
                    raise YamlProblem(
                        f"nested deeper than {MAX_NESTING_LEVELS} levels", _line(event)
                    )


def _note_key(mapping: _Open, event: yaml.NodeEvent) -> None:
    if mapping.at_key and isinstance(event, yaml.ScalarEvent):
        key: str = event.value
        if key in mapping.keys:
            raise YamlProblem(f"key {key!r} stands twice in one section; keep one", _line(event))
        mapping.keys.add(key)
    mapping.at_key = not mapping.at_key


def _fast_loader() -> type[yaml.SafeLoader]:
    """The loader of libyaml where PyYAML was built with it, ten times faster than the other."""
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _line_of_unusable_scalar(text: str) -> int | None:
    """Where the first value stands that looks like a date or number, and can't be one."""
    events = yaml.parse(text, Loader=_fast_loader())
    return next((_line(event) for event in events if _is_unusable(event)), None)


def _is_unusable(event: yaml.Event) -> bool:
    if not isinstance(event, yaml.ScalarEvent) or not event.implicit[0]:
        return False
    try:
        yaml.safe_load(event.value)
    except yaml.YAMLError:  # wrong in another way
        return False
    except ValueError:
        return True
    return False


def _line(event: yaml.Event) -> int | None:
    return event.start_mark.line + 1 if event.start_mark is not None else None


def _character(error: yaml.reader.ReaderError) -> str:
    character: object = error.character
    return chr(character) if isinstance(character, int) else str(character)[:1]
