"""As much of llama-cpp-python 0.3 as is used; it is an extra, and hardly typed.

Names in lower case are functions and types of llama.cpp itself.
"""

import ctypes
from collections.abc import Iterator
from typing import TypeAlias, TypedDict

from llama_cpp import llama_chat_format as llama_chat_format

__version__: str

llama_token: TypeAlias = ctypes.c_int32
ggml_abort_callback: TypeAlias = ctypes.c_void_p

class Choice(TypedDict):
    text: str
    finish_reason: str | None

class Completion(TypedDict):
    choices: list[Choice]

class TokenArray:
    """A numpy array of token ids."""

    def __getitem__(self, part: slice) -> TokenArray: ...
    def __setitem__(self, part: slice, tokens: list[int]) -> None: ...
    def tolist(self) -> list[int]: ...

class LlamaGrammar:
    @classmethod
    def from_json_schema(cls, json_schema: str, verbose: bool = ...) -> LlamaGrammar:
        """The grammar of the JSON that fits a schema."""

class Context:
    """A pointer to a `llama_context`."""

class Memory:
    """A pointer to what a context remembers."""

class Llama:
    metadata: dict[str, str]
    input_ids: TokenArray
    n_tokens: int

    def __init__(
        self,
        model_path: str,
        *,
        n_ctx: int,
        n_threads: int,
        n_threads_batch: int,
        n_batch: int,
        verbose: bool,
    ) -> None: ...
    @property
    def ctx(self) -> Context: ...
    def n_ctx(self) -> int: ...
    def token_eos(self) -> int:
        """The token that ends a text; below 0 if there is none."""

    def token_bos(self) -> int:
        """The token that begins one; below 0 if there is none."""

    def reset(self) -> None:
        """Forget how much was read."""

    def eval(self, tokens: list[int]) -> None: ...
    def tokenize(self, text: bytes, add_bos: bool, special: bool) -> list[int]: ...
    def detokenize(self, tokens: list[int], *, special: bool) -> bytes: ...
    def create_completion(
        self,
        prompt: list[int],
        *,
        max_tokens: int,
        temperature: float,
        top_p: float,
        seed: int,
        grammar: LlamaGrammar | None,
        stream: bool,
    ) -> Iterator[Completion]:
        """Write on, piece by piece; so with `stream` only."""

def llama_set_abort_callback(
    ctx: Context, callback: ctypes.c_void_p, data: ctypes.c_void_p
) -> None: ...
def llama_get_memory(ctx: Context) -> Memory: ...
def llama_memory_clear(memory: Memory, data: bool) -> None: ...
def llama_state_seq_load_file(
    ctx: Context,
    path: bytes,
    sequence: int,
    tokens: ctypes.Array[ctypes.c_int32],
    capacity: int,
    count: object,
) -> int:
    """Read a state; 0 where that fails."""

def llama_state_seq_save_file(
    ctx: Context,
    path: bytes,
    sequence: int,
    tokens: ctypes.Array[ctypes.c_int32],
    count: int,
) -> int:
    """Write a state; 0 where that fails."""
