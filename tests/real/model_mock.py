"""A mock of models' services that others maintain, as a process of its own on loopback.

`@copilotkit/aimock` (MIT) speaks the protocols of OpenAI, Anthropic, Gemini and Ollama on one port,
and is compared every day with what the services do. It asks for a key, as they do.

What it does not do as the services do, seen in 1.43.0, is tested with servers of our own in
`tests/modules`: Ollama's counts of tokens (always 0), its thinking, `done_reason`, `/api/show` and
`/api/ps`; the cached tokens of all of them; an error in the middle of a stream.
"""

import json
import subprocess
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from config.models_file import BackendName, ModelEntry, ModelsFile
from core.process.server import server_environment
from core.tools.json_schema import as_object
from core.values import Json, JsonObject
from tests.real.mock_replies import GEMINI_MODEL, fixture_file
from tests.real.over_http import END_SECONDS, free_port
from tests.real.parts import model_mock

KEY_VARIABLE = "MOCK_OF_MODELS_KEY"
KEY = "mk-0123456789-abcdef"
ENVIRON: Final = {KEY_VARIABLE: KEY}
"""What the environment holds of those who know the mock's key."""

HTTP_SECONDS = 10.0

ENTRIES: Final[dict[BackendName, tuple[str, str]]] = {
    "gemini": (GEMINI_MODEL, ""),
    "openai": ("gpt-6.1-terra", "/v1"),
    "anthropic": ("claude-sonnet-5-5", ""),
    "ollama": ("qwen3-vl", ""),
}
"""By backend a model and where its service lies on the mock."""


@dataclass(frozen=True)
class ModelMock:
    """A mock that runs."""

    url: str

    def models(self, model: str | None = None) -> ModelsFile:
        """A models.json with an entry for each backend, by its name; all of `model` if given."""
        entries = {
            backend: ModelEntry(
                type=backend,
                model=model or usual,
                base_url=self.url + path,
                api_key_env=KEY_VARIABLE,
            )
            for backend, (usual, path) in ENTRIES.items()
        }
        return ModelsFile(models=dict[str, ModelEntry](entries))

    def write_models(self, home: Path) -> None:
        """Put such a file where the program looks for it."""
        file = home / "config" / "models.json"
        file.parent.mkdir()
        file.write_text(self.models().model_dump_json(exclude_none=True), encoding="utf-8")

    def journal(self) -> list[JsonObject]:
        """The requests so far, oldest first, and what became of each."""
        asked = urllib.request.Request(  # noqa: S310 - the address is one of ours
            f"{self.url}/__aimock/journal", headers={"authorization": f"Bearer {KEY}"}
        )
        with urllib.request.urlopen(asked, timeout=HTTP_SECONDS) as response:  # noqa: S310
            return cast("list[JsonObject]", json.load(response))

    def last_request(self, words: str) -> JsonObject:
        """The journal's last entry whose body has these words."""
        return [entry for entry in self.journal() if words in json.dumps(entry.get("body"))][-1]


def message_texts(entry: JsonObject) -> list[tuple[Json, str]]:
    """Role and content of a request's messages; the mock notes them in OpenAI's form."""
    messages = as_object(entry.get("body")).get("messages")
    found: list[tuple[Json, str]] = []
    for message in messages if isinstance(messages, list) else []:
        content = as_object(message).get("content")
        text = content if isinstance(content, str) else json.dumps(content)
        found.append((as_object(message).get("role"), text))
    return found


@contextmanager
def running_mock(folder: Path) -> Generator[ModelMock]:
    """A mock that runs for as long as this is open; `folder` keeps what it was told."""
    fixtures = folder / "replies.json"
    fixtures.write_text(json.dumps(fixture_file()), encoding="utf-8")
    port = free_port()
    options = ("--port", str(port), "--fixtures", str(fixtures), "--strict", "--validate-on-load")
    process = subprocess.Popen(
        model_mock(*options),
        env=server_environment({"AIMOCK_API_KEYS": KEY}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            said: list[str] = []
            for line in process.stdout:
                said.append(line)
                if "listening" in line:
                    break
            else:
                raise AssertionError(f"the mock did not start: {''.join(said)}")
            yield ModelMock(f"http://127.0.0.1:{port}")
        finally:
            process.kill()
            process.wait(END_SECONDS)
