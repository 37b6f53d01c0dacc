"""As much of llama-cpp-python as is used, as types: the package is an extra, and hardly typed."""

import ctypes
from collections.abc import Iterator
from typing import Protocol, TypedDict


class Choice(TypedDict):
    """One piece of a completion."""

    text: str
    finish_reason: str | None


class Completion(TypedDict):
    """What `create_completion` streams."""

    choices: list[Choice]


class TokenArray(Protocol):
    """A numpy array of token ids."""

    def __getitem__(self, part: slice) -> "TokenArray":
        """A part of it."""
        ...

    def __setitem__(self, part: slice, tokens: list[int]) -> None:
        """Replace a part of it."""
        ...

    def tolist(self) -> list[int]:
        """As a list."""
        ...


class Grammar(Protocol):
    """A compiled grammar."""


class Grammars(Protocol):
    """`LlamaGrammar`, the class."""

    def from_json_schema(self, json_schema: str, verbose: bool) -> Grammar:
        """The grammar of the JSON that fits a schema."""
        ...


class Prompt(Protocol):
    """What a chat template makes of messages."""

    prompt: str


class ChatFormatter(Protocol):
    """A chat template."""

    def __call__(self, *, messages: list[dict[str, str]], **options: object) -> Prompt:
        """Render a chat."""
        ...


class ChatFormats(Protocol):
    """The module `llama_cpp.llama_chat_format`."""

    def Jinja2ChatFormatter(self, template: str, eos_token: str, bos_token: str) -> ChatFormatter:
        """A formatter for a template."""
        ...


class Context(Protocol):
    """A pointer to a `llama_context`."""


class Memory(Protocol):
    """A pointer to what a context remembers."""


class Llama(Protocol):
    """A loaded model with its context."""

    metadata: dict[str, str]
    input_ids: TokenArray
    n_tokens: int

    @property
    def ctx(self) -> Context:
        """The native context."""
        ...

    def n_ctx(self) -> int:
        """How many tokens it holds."""
        ...

    def token_eos(self) -> int:
        """The token that ends a text; below 0 if there is none."""
        ...

    def token_bos(self) -> int:
        """The token that begins one; below 0 if there is none."""
        ...

    def reset(self) -> None:
        """Forget how much was read."""
        ...

    def eval(self, tokens: list[int]) -> None:
        """Read tokens."""
        ...

    def tokenize(self, text: bytes, add_bos: bool, special: bool) -> list[int]:
        """The tokens of a text."""
        ...

    def detokenize(self, tokens: list[int], *, special: bool) -> bytes:
        """The text of tokens."""
        ...

    def create_completion(
        self,
        prompt: list[int],
        *,
        max_tokens: int,
        temperature: float,
        top_p: float,
        seed: int,
        grammar: Grammar | None,
        stream: bool,
    ) -> Iterator[Completion]:
        """Write on, piece by piece."""
        ...


class Library(Protocol):
    """The package `llama_cpp`; names in lower case are functions of llama.cpp itself."""

    __version__: str
    llama_token: type[ctypes.c_int32]
    ggml_abort_callback: type[ctypes.c_void_p]
    LlamaGrammar: Grammars
    llama_chat_format: ChatFormats

    def Llama(
        self,
        model_path: str,
        *,
        n_ctx: int,
        n_threads: int,
        n_threads_batch: int,
        n_batch: int,
        verbose: bool,
    ) -> Llama:
        """Load weights."""
        ...

    def llama_set_abort_callback(
        self, ctx: Context, callback: ctypes.c_void_p, data: ctypes.c_void_p
    ) -> None:
        """What is asked whether to stop."""
        ...

    def llama_get_memory(self, ctx: Context) -> Memory:
        """What the context remembers."""
        ...

    def llama_memory_clear(self, memory: Memory, data: bool) -> None:
        """Let it remember nothing."""
        ...

    def llama_state_seq_load_file(
        self,
        ctx: Context,
        path: bytes,
        sequence: int,
        tokens: "ctypes.Array[ctypes.c_int32]",
        capacity: int,
        count: object,
    ) -> int:
        """Read a state; 0 where that fails."""
        ...

    def llama_state_seq_save_file(
        self,
        ctx: Context,
        path: bytes,
        sequence: int,
        tokens: "ctypes.Array[ctypes.c_int32]",
        count: int,
    ) -> int:
        """Write a state; 0 where that fails."""
        ...
