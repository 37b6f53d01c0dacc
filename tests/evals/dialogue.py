"""A talk in which a model calls tools, as the two texts of a `ModelRequest`.

The fairest form for a model is the one that it was trained on: the chat template that lies beside
its weights says how tools, calls and results are written. `TemplateForm` renders the talk with it
and hands over what stands between the first and the last marks, around which the backend puts the
same marks again. `PlainForm` is for models whose template nobody can see.
"""

import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, cast

from core.values import JsonObject

Role: TypeAlias = Literal["user", "assistant", "tool"]

INSTRUCTIONS = """\
You answer the user's request, with the help of functions where they are needed.
- Call a function whenever the request is about files, repositories, pictures or times, and for \
reckoning. Never guess what a function would give.
- Several calls that need nothing of each other may be made at once; when a call needs the result \
of another, wait for that result first.
- If a call gives an error, correct it, or try another function.
- When you know the answer, write it in one short sentence with all values that were asked for, \
and without any call.
- If no function is needed, as for a greeting or for common knowledge, answer at once."""
"""What a model is told first, whatever the form."""

_PLAIN_FORM = """\
To call functions, write one line for each call, and nothing else:
<tool_call>{"name": "the function's name", "arguments": {"argument": "value"}}</tool_call>
The results come back as <tool_response>…</tool_response>.

The functions, as JSON:
"""


class FormUnknown(Exception):
    """A model's template can't be found, or is not of the kind that can be taken apart."""


@dataclass(frozen=True)
class Said:
    """One message of the talk."""

    role: Role
    text: str


@dataclass(frozen=True)
class Texts:
    """What a backend is given: the beginning that never changes, and the rest."""

    system: str
    user: str


class Form(Protocol):
    """A way to write a talk down."""

    @property
    def name(self) -> str:
        """For the table."""
        ...

    def texts(self, functions: Sequence[JsonObject], talk: Sequence[Said]) -> Texts:
        """The talk so far, `talk` beginning with the user's request."""
        ...


class PlainForm:
    """Everything in words: the functions first, then what was said."""

    name = "plain transcript"

    def texts(self, functions: Sequence[JsonObject], talk: Sequence[Said]) -> Texts:
        """The talk as a transcript."""
        listed = "\n".join(json.dumps(function, ensure_ascii=False) for function in functions)
        return Texts(f"{INSTRUCTIONS}\n\n{_PLAIN_FORM}{listed}\n", "\n\n".join(map(_plain, talk)))


class ChatTemplate(Protocol):
    """A `Jinja2ChatFormatter` of llama-cpp-python: messages and functions to a prompt."""

    def __call__(
        self, *, messages: list[dict[str, str]], tools: list[JsonObject]
    ) -> "RenderedPrompt": ...


class RenderedPrompt(Protocol):
    """What a template makes."""

    @property
    def prompt(self) -> str:
        """The text, marks included."""
        ...


class TemplateForm:
    """The form of a model's own template, if that is ChatML, as the Qwen family's is."""

    name = "the model's own template"
    _SYSTEM, _END, _USER = "<|im_start|>system\n", "<|im_end|>\n", "<|im_start|>user\n"
    _REPLY = "<|im_start|>assistant\n"

    def __init__(self, template: ChatTemplate) -> None:
        """Render with `template`.

        Raises:
            FormUnknown: it is none of ChatML.
        """
        self._template = template
        self.texts([], [Said("user", "?")])

    def texts(self, functions: Sequence[JsonObject], talk: Sequence[Said]) -> Texts:
        """The talk as the template has it, without the outermost marks.

        Raises:
            FormUnknown: the template writes something else than was seen of it before.
        """
        messages = [{"role": "system", "content": INSTRUCTIONS}]
        messages += [{"role": said.role, "content": said.text} for said in talk]
        prompt = self._template(messages=messages, tools=list(functions)).prompt
        system, between, user = prompt.partition(f"{self._END}{self._USER}")
        tail = f"{self._END}{self._REPLY}"
        if not (system.startswith(self._SYSTEM) and between and user.endswith(tail)):
            raise FormUnknown("the model's chat template is not of the ChatML kind")
        return Texts(system.removeprefix(self._SYSTEM), user.removesuffix(tail))


def form_of(weights: Path | None) -> Form:
    """The form for a model: of the template in its GGUF file, where there is one."""
    if weights is None:
        return PlainForm()
    try:
        return TemplateForm(_template_in(weights))
    except (FormUnknown, ImportError):
        return PlainForm()


def _template_in(weights: Path) -> ChatTemplate:
    # An extra without types, and nothing that this module could not do without.
    llama_cpp = importlib.import_module("llama_cpp")
    chat_format = importlib.import_module("llama_cpp.llama_chat_format")
    metadata = cast(
        "dict[str, str]", llama_cpp.Llama(str(weights), vocab_only=True, verbose=False).metadata
    )
    if (template := metadata.get("tokenizer.chat_template")) is None:
        raise FormUnknown(f"{weights} has no chat template")
    formatter = chat_format.Jinja2ChatFormatter(template, eos_token="", bos_token="")
    return cast("ChatTemplate", formatter)


def _plain(said: Said) -> str:
    match said.role:
        case "user":
            return f"User: {said.text}"
        case "assistant":
            return f"You: {said.text}"
        case "tool":
            return f"<tool_response>\n{said.text}\n</tool_response>"
