"""The child process that runs GGUF weights with llama.cpp: `python worker.py SETTINGS`.

It imports the standard library and llama_cpp only, is told what to do in lines of JSON on stdin,
and answers in lines on stdout:

    → {"id": 1, "system": …, "user": …, "temperature": 0.0, "seed": 1,
       "max_tokens": 400, "schema": null}
    → {"stop": 1}
    ← {"ready": {"context_tokens": 8192}}
    ← {"id": 1, "text": "async def"}
    ← {"id": 1, "end": {"finish": "stop", "input_tokens": …, "cached_tokens": …, …}}
    ← {"id": 1, "error": …}        or {"error": …}, if the weights can't be loaded

When stdin closes, however the parent ended, the process ends at once.
"""

import contextlib
import ctypes
import hashlib
import json
import os
import queue
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypedDict, cast

if TYPE_CHECKING:
    from llama_cpp import Llama, LlamaGrammar
    from llama_cpp.llama_chat_format import Jinja2ChatFormatter

BATCH_TOKENS = 512
"""How many tokens of a prompt are read at once."""

STATE_FILES_KEPT = 4
"""How many prompts' beginnings are kept on the disk; some 30 kB a token with a model of 1.5B."""

MIN_STATE_TOKENS = 256
"""A shorter beginning is read again as quickly as it is loaded."""

TOP_P = 0.95


class Settings(TypedDict):
    """What the process is started with.

    `state_folder` is where prompts' beginnings are kept. With `is_rendered`, messages hold the
    marks of the chat template themselves; else such marks in them are plain text.
    """

    path: str
    context_tokens: int
    threads: int
    state_folder: str | None
    thinking: bool | None
    is_rendered: bool


class Request(TypedDict):
    """One request; see the head of this file."""

    id: int
    system: str
    user: str
    temperature: float
    seed: int
    max_tokens: int
    schema: dict[str, object] | None


class LlamaCpp:
    """The package llama_cpp: an extra, and slow to import, so only where weights are loaded."""

    def __init__(self) -> None:
        """Import it; functions of llama.cpp itself have names in lower case there."""
        import llama_cpp

        self.api = llama_cpp


class StopFlag:
    """Ends the computing from another thread, in the middle of a prompt too.

    llama.cpp asks a C function, thousands of times a second, whether to go on. A Python function
    would need the interpreter's lock each time, so libc's `strlen` is the one that it asks: of
    a text that is empty, its length is false.
    """

    def __init__(self) -> None:
        self._text = ctypes.create_string_buffer(2)
        self._asked_to_stop: int | None = None
        self._running: int | None = None
        self._lock = threading.Lock()

    def install(self, library: "LlamaCpp", llama: "Llama") -> None:
        """Let this flag stop what `llama` computes."""
        function = ctypes.cast(ctypes.CDLL(None).strlen, library.api.ggml_abort_callback)
        pointer = ctypes.cast(self._text, ctypes.c_void_p)
        library.api.llama_set_abort_callback(llama.ctx, function, pointer)

    @property
    def is_set(self) -> bool:
        """Whether the running request is to end."""
        return self._text.raw[:1] != b"\0"

    def begin(self, request_id: int) -> None:
        """A request is taken up; it may have been stopped while it waited."""
        with self._lock:
            self._running = request_id
            self._text.value = b"x" if self._asked_to_stop == request_id else b""

    def stop(self, request_id: int) -> None:
        """End that request, now or when it comes up."""
        with self._lock:
            self._asked_to_stop = request_id
            if self._running == request_id:
                self._text.value = b"x"


@dataclass
class Worker:
    """One loaded model; `output` is where lines go."""

    library: "LlamaCpp"
    llama: "Llama"
    formatter: "Jinja2ChatFormatter"
    settings: Settings
    output: TextIO
    flag: StopFlag = field(default_factory=StopFlag)

    def answer(self, request: Request) -> None:
        """Write the reply to one request, in pieces; what goes wrong is written too."""
        self.flag.begin(request["id"])
        try:
            self._answer(request)
        except Exception as error:  # noqa: BLE001 - whatever llama.cpp raises is the reply
            forget_all(self.library, self.llama)
            if self.flag.is_set:
                self._end(request["id"], "stopped", 0, 0, 0)
            else:
                write_line(self.output, {"id": request["id"], "error": str(error)[:500]})

    def _answer(self, request: Request) -> None:
        tokens = self._tokens(request["system"], request["user"])
        room = self.llama.n_ctx() - len(tokens)
        if room < 1:
            raise ValueError(
                f"the prompt has {len(tokens):,} tokens, more than the {self.llama.n_ctx():,} "
                "of the context; set context_tokens of the model in models.json"
            )
        cached = self._recall(request, tokens)
        grammar = self._grammar(request["schema"])
        written, finish = 0, "length"
        pieces = self.llama.create_completion(
            prompt=tokens,
            max_tokens=min(request["max_tokens"], room),
            temperature=request["temperature"],
            top_p=TOP_P,
            seed=request["seed"],
            grammar=grammar,
            stream=True,
        )
        for piece in pieces:
            choice = piece["choices"][0]
            written += 1
            if choice["text"]:
                write_line(self.output, {"id": request["id"], "text": choice["text"]})
            finish = choice["finish_reason"] or finish
            if self.flag.is_set:
                finish = "stopped"
                break
        self._end(request["id"], finish, len(tokens), cached, written)

    def _end(self, request_id: int, finish: str, read: int, cached: int, written: int) -> None:
        counts = {"input_tokens": read, "cached_tokens": cached, "output_tokens": written}
        write_line(self.output, {"id": request_id, "end": {"finish": finish, **counts}})

    def _tokens(self, system: str, user: str) -> list[int]:
        """The chat as the model was trained on it, by the template that lies beside the weights.

        What messages say is put in place after the template was rendered, as plain text: a page
        that writes the marks between messages can't pose as a message.
        """
        said = {"system": system, "user": user}
        if self.settings["is_rendered"]:
            return self._read(self._rendered(said), marks=True)
        stand_ins = {role: f"\x02{role}-message\x03" for role in said if said[role]}
        tokens: list[int] = []
        rest = self._rendered({role: stand_ins.get(role, "") for role in said})
        for role, stand_in in stand_ins.items():
            before, found, rest = rest.partition(stand_in)
            if not found:
                raise ValueError(f"the chat template leaves the {role} message out")
            tokens += self._read(before, marks=True)
            tokens += self._read(said[role].strip(), marks=False)
        return tokens + self._read(rest, marks=True)

    def _rendered(self, said: dict[str, str]) -> str:
        options = {} if (on := self.settings["thinking"]) is None else {"enable_thinking": on}
        asked = {"role": "user", "content": said["user"]}
        try:
            first = [{"role": "system", "content": said["system"]}] if said["system"] else []
            return self.formatter(messages=[*first, asked], **options).prompt
        except Exception:  # noqa: BLE001 - templates refuse in words of their own; without a system
            joined = f"{said['system']}\n\n{said['user']}"  # role, all goes into one message
            return self.formatter(messages=[{"role": "user", "content": joined}], **options).prompt

    def _read(self, text: str, *, marks: bool) -> list[int]:
        """A text as tokens; `marks` of the chat template in it count as such."""
        return self.llama.tokenize(text.encode("utf-8"), add_bos=False, special=marks)

    def _grammar(self, schema: dict[str, object] | None) -> "LlamaGrammar | None":
        if schema is None:
            return None
        return self.library.api.LlamaGrammar.from_json_schema(json.dumps(schema), verbose=False)

    def _known(self) -> list[int]:
        return self.llama.input_ids[: self.llama.n_tokens].tolist()

    def _recall(self, request: Request, tokens: list[int]) -> int:
        """Have the prompt's stable beginning read: from before, from the disk, or now, once.

        Returns how many tokens of the prompt need not be read.
        """
        known = common_length(self._known(), tokens[:-1])
        folder = self.settings["state_folder"]
        if folder is None or not request["system"]:
            return known
        other = self._tokens(request["system"], "\n.")
        beginning = tokens[: common_length(tokens, other)]
        if len(beginning) < MIN_STATE_TOKENS or known >= len(beginning):
            return known
        store = StateStore(Path(folder), self.settings, self.library)
        if store.load(self.llama, beginning):
            return len(beginning)
        forget_all(self.library, self.llama)
        self.llama.eval(beginning)
        store.save(self.llama, beginning)
        return 0


@dataclass(frozen=True)
class StateStore:
    """What the model made of prompts' beginnings, kept in files (llama.cpp's sequence state)."""

    folder: Path
    settings: Settings
    library: "LlamaCpp"

    def load(self, llama: "Llama", tokens: list[int]) -> bool:
        """Put the model into the state after `tokens`; False if no file has it."""
        path = self._path(tokens)
        if not path.is_file():
            return False
        room = (self.library.api.llama_token * len(tokens))()
        count = ctypes.c_size_t()
        forget_all(self.library, llama)
        read = self.library.api.llama_state_seq_load_file(
            llama.ctx, os.fsencode(path), 0, room, len(tokens), ctypes.byref(count)
        )
        if not read or count.value != len(tokens) or list(room) != tokens:
            forget_all(self.library, llama)
            with contextlib.suppress(OSError):
                path.unlink()
            return False
        llama.input_ids[: len(tokens)] = tokens
        llama.n_tokens = len(tokens)
        with contextlib.suppress(OSError):
            os.utime(path)  # the oldest files are those that nobody used
        return True

    def save(self, llama: "Llama", tokens: list[int]) -> None:
        """Keep the state after `tokens`; a full or read-only disk is no reason to fail."""
        path = self._path(tokens)
        partial = path.with_suffix(f".{os.getpid()}.partial")
        array = (self.library.api.llama_token * len(tokens))(*tokens)
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            if self.library.api.llama_state_seq_save_file(
                llama.ctx, os.fsencode(partial), 0, array, len(tokens)
            ):
                partial.replace(path)
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        files = sorted(self.folder.glob("*.state"), key=lambda file: file.stat().st_mtime)
        for file in [*files[:-STATE_FILES_KEPT], *self.folder.glob("*.partial")]:
            file.unlink(missing_ok=True)

    def _path(self, tokens: list[int]) -> Path:
        """Named by all that decides about the state: weights, library, context, tokens."""
        weights = Path(self.settings["path"]).stat()
        parts = [
            self.settings["path"],
            weights.st_size,
            weights.st_mtime_ns,
            self.library.api.__version__,
            self.settings["context_tokens"],
            tokens,
        ]
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        return self.folder / f"{digest[:32]}.state"


def common_length(first: list[int], second: list[int]) -> int:
    """How many tokens two lists have in common at their beginning."""
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def write_line(output: TextIO, message: dict[str, object]) -> None:
    """One message to the parent, at once."""
    output.write(f"{json.dumps(message)}\n")
    output.flush()


def load(settings: Settings, output: TextIO) -> Worker:
    """Load the weights.

    Raises:
        ValueError: the file holds none that llama.cpp reads.
    """
    library = LlamaCpp()
    llama = library.api.Llama(
        settings["path"],
        n_ctx=settings["context_tokens"],
        n_threads=settings["threads"],
        n_threads_batch=settings["threads"],
        n_batch=BATCH_TOKENS,
        verbose=False,
    )
    template = llama.metadata.get("tokenizer.chat_template")
    if template is None:
        raise ValueError("the file has no chat template; take one of an instruct or chat model")
    formatter = library.api.llama_chat_format.Jinja2ChatFormatter(
        template,
        eos_token=piece(llama, llama.token_eos()),
        bos_token=piece(llama, llama.token_bos()),
    )
    worker = Worker(library, llama, formatter, settings, output)
    worker.flag.install(library, llama)
    return worker


def forget_all(library: "LlamaCpp", llama: "Llama") -> None:
    """Begin anew, as if nothing had been read."""
    llama.reset()
    library.api.llama_memory_clear(library.api.llama_get_memory(llama.ctx), True)


def piece(llama: "Llama", token: int) -> str:
    """A special token as the template writes it; empty where the model has none."""
    if token < 0:
        return ""
    return llama.detokenize([token], special=True).decode("utf-8", "replace")


def requests(flag: StopFlag) -> Iterator[Request]:
    """The requests of stdin, read in a thread, so that a stop is heard while one is running."""
    waiting: queue.SimpleQueue[Request] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            message: dict[str, object] = json.loads(line)
            if isinstance(stop := message.get("stop"), int):
                flag.stop(stop)
            else:
                waiting.put(cast("Request", cast("object", message)))
        os._exit(0)  # the parent has gone: nobody wants the rest of a reply

    threading.Thread(target=listen, daemon=True).start()
    while True:
        yield waiting.get()


def main() -> None:
    """Load, say so, and answer until stdin closes."""
    settings: Settings = json.loads(sys.argv[1])
    os.umask(0o077)  # what is kept of prompts is for this user alone
    # What native code prints must not come between the lines for the parent.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        worker = load(settings, output)
    except Exception as error:  # noqa: BLE001 - told to the parent, in whatever words
        write_line(output, {"error": str(error)[:500]})
        return
    write_line(output, {"ready": {"context_tokens": worker.llama.n_ctx()}})
    for request in requests(worker.flag):
        worker.answer(request)


if __name__ == "__main__":
    main()
