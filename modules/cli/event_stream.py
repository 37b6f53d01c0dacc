"""stream-json: each event of a run as a line of JSON on stdout, as it comes."""

import dataclasses
from typing import Final, TextIO

from core.base.redaction import Redactor
from core.base.text import lazy_pattern
from core.events import Answered, Event, ModelAnswered, RunFinished, StepFinished, SubtaskEvent
from core.values import JsonObject
from modules.terminal.answer import SCHEMA_VERSION, Room, plain_json, step_end
from modules.terminal.streams import print_document, writing_stdout

EVENT_CHARACTERS_MAX: Final = 64_000
"""About so much an event may take: what is longer is cut, and stands whole in the result."""

_HUMP: Final = lazy_pattern(r"(?<=[a-z])(?=[A-Z])")


class EventWriter:
    """A listener of runs that writes their events; the result is written by who has it.

    What models were asked is written with `tells_prompts` only; else an empty text stands for it.
    """

    def __init__(self, stream: TextIO, redactor: Redactor, *, tells_prompts: bool = False) -> None:
        self._stream = stream
        self._redactor = redactor
        self._tells_prompts = tells_prompts

    async def __call__(self, event: Event) -> None:
        """Write one event.

        Raises:
            StdoutLost: nobody reads it.
        """
        if (printed := self._printed(event)) is None:
            return
        document = event_document(printed)
        # An answer is written as it is, here as everywhere: a figure in it may look like a secret.
        told = document if isinstance(event, Answered) else self._redactor.object(document)
        with writing_stdout():
            print_document(told, self._stream)

    def _printed(self, event: Event) -> Event | None:
        """What is printed of an event; None of the end of a run: what comes next says it all."""
        match event:
            case RunFinished():
                return None
            case ModelAnswered() if not self._tells_prompts:
                return dataclasses.replace(event, prompt="")
            case SubtaskEvent():
                inner = self._printed(event.event)
                return None if inner is None else dataclasses.replace(event, event=inner)
            case _:
                return event


def event_type(kind: type[Event]) -> str:
    """The name of a kind of event in JSON: `ToolCallStarted` is `tool_call_started`."""
    return _HUMP.sub("_", kind.__name__).lower()


def event_document(event: Event, room: Room | None = None) -> JsonObject:
    """An event as JSON of a bounded size: its type, the schema's version, and its fields.

    A subtask's event holds that of its own run as such a document.
    """
    room = room or Room(EVENT_CHARACTERS_MAX)
    told: JsonObject = {"type": event_type(type(event)), "schema": SCHEMA_VERSION}
    if isinstance(event, StepFinished):
        ended = step_end(event.step)
        return told | {name: plain_json(value, room=room) for name, value in ended.items()}
    for field in dataclasses.fields(event):
        value = getattr(event, field.name)
        is_event = isinstance(event, SubtaskEvent) and field.name == "event"
        told[field.name] = event_document(value, room) if is_event else plain_json(value, room=room)
    return told
