"""A person at a scripted dialogue, and questions to put to them."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence

from core.base.redaction import Redactor
from core.mcp.hooks import Question, Reply
from core.values import Json, JsonObject
from modules.terminal.asking.dialogue import Declined, Dialogue, Interrupted
from modules.terminal.asking.questions import Questions

OURS = "s3cr3t-of-mine"
REDACTOR = Redactor({"API_KEY": OURS})

CTRL_C = Interrupted()
CTRL_D = Declined()


class Person(Dialogue):
    """A dialogue whose lines are typed by a script; counts who is at it at the same time."""

    def __init__(self, *lines: str | Exception, attended: bool = True) -> None:
        # Nothing of the real one is set up: each of its methods is replaced.
        self.lines = list(lines)
        self.shown = ""
        self.hidden: list[bool] = []
        self.begun: list[str] = []
        self.attended = attended
        self.open = 0
        self.opened_times = 0
        self.typing = asyncio.Event()
        self.typing.set()

    def is_attended(self) -> bool:
        return self.attended

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        self.open += 1
        self.opened_times += 1
        assert self.open == 1
        try:
            yield
        finally:
            self.open -= 1

    def write(self, text: str) -> None:
        assert self.open == 1
        self.shown += text

    async def read_line(self, *, hidden: bool = False, begun: str = "") -> str:
        await self.typing.wait()
        self.hidden.append(hidden)
        self.begun.append(begun)
        line = self.lines.pop(0)
        if isinstance(line, Exception):
            raise line
        self.shown += f"{line}\n"
        return line


def question(message: str = "Well?", required: Sequence[str] = (), **properties: Json) -> Question:
    return form(properties, message, required)


def form(fields: JsonObject, message: str = "Well?", required: Sequence[str] = ()) -> Question:
    schema: JsonObject = {
        "type": "object",
        "properties": fields,
        "required": list[Json](required),
    }
    return Question("booking", message, schema)


async def ask(person: Person, asked: Question) -> Reply:
    async with asyncio.timeout(5):
        questions = Questions(person, lambda stage, text: None, redactor=REDACTOR)
        return await questions.ask(asked)
